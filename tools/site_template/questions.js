"use strict";
// What a reader does on a page: predict, check a quiz, fold code.

// Reading, judging and writing as posenc_lib/exercises/predictions.py does; a test compares the two.

/** A number as people write it, with thousands set apart, as a fraction or as a percentage; null if it is none. */
function typedNumber(text) {
  const plain = text.replace(/\s|(?<=\d),(?=\d{3}(?!\d))/g, "").replaceAll("−", "-");
  const [numerator, ...rest] = plain.replace(/%$/, "").split("/");
  const parts = rest.length ? [numerator, rest.join("/")] : [numerator];
  if (!parts.every((part) => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part))) return null;
  const number = parts.map(Number).reduce((dividend, divisor) => dividend / divisor);
  const answer = plain.endsWith("%") ? number / 100 : number;
  return Number.isFinite(answer) ? answer : null;
}

/** The number to so many digits, as Python's ".4g" writes it; a tie goes to the even digit. */
function general(number, digits) {
  const [exact, power] = number.toExponential(60).split("e");
  const kept = exact.slice(0, exact.indexOf(".") + digits);
  const isTie = /^50*$/.test(exact.slice(kept.length));
  const rounded = isTie && /[02468]$/.test(kept) ? Number(`${kept}e${power}`) : Number(number.toPrecision(digits));
  const [mantissa, exponent] = rounded.toExponential().split("e");
  if (exponent >= -4 && exponent < digits) return String(rounded);
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** The factor as a whole number, its thousands set apart; a half goes to the even number. */
function whole(factor) {
  const up = Math.round(factor);
  return BigInt(factor % 1 === 0.5 && up % 2 ? up - 1 : up).toLocaleString("en-US");
}

function shown(answer) {
  return typeof answer === "string" ? `“${answer}”` : general(answer, 4);
}

function agree(said, other, tolerance) {
  if (typeof said === "string") return said === other;
  return Math.abs(said - other) <= (tolerance ?? Math.abs(other) / 10);
}

function verdict(said, measured, tolerance) {
  if (typeof said === "string") return said === measured ? "as predicted" : "not as predicted";
  if (said === measured) return "exact";
  if (agree(said, measured, tolerance)) return "close";
  if (said * measured < 0) return "the other sign";
  const factor = said === 0 || measured === 0 ? Infinity : Math.max(said / measured, measured / said);
  if (factor >= 1.5 && factor < Infinity) return `off by a factor of ${factor < 10 ? general(factor, 2) : whole(factor)}`;
  return `off by ${general(Math.abs(said - measured), 2)}`;
}

/** All that is said once an answer is committed to. */
function judged(said, { measured, tolerance, misconceptions }) {
  const line = `You said ${shown(said)}, measured ${shown(measured)}: ${verdict(said, measured, tolerance)}.`;
  if (agree(said, measured, tolerance)) return line;
  const mistake = misconceptions.find(([answer]) => agree(said, answer, tolerance));
  return mistake ? `${line} ${mistake[1]}` : line;
}

const committed = new Set();

for (const section of document.querySelectorAll(".prediction")) {
  const facts = JSON.parse(section.querySelector("script").textContent);
  section.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const said = facts.number
      ? typedNumber(section.querySelector("input").value)
      : (section.querySelector("input:checked")?.value ?? null);
    const status = section.querySelector(".verdict");
    if (said === null) {
      status.textContent = facts.number
        ? "Type a finite number first, like 0.5, 1/2, 40 %, 8,192 or 2e-3."
        : "Choose an answer first.";
      return;
    }
    status.textContent = judged(said, facts);
    section.querySelector("fieldset").disabled = true; // the first commitment stands
    committed.add(section.dataset.id);
    for (const fold of document.querySelectorAll(".outcome")) {
      if (fold.dataset.predictions.split(" ").every((id) => committed.has(id))) fold.open = true;
    }
  });
}

for (const form of document.querySelectorAll(".quiz form")) {
  form.addEventListener("change", (event) => {
    event.target.closest("fieldset").querySelector(".verdict").textContent = ""; // it was on the answer before
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const questions = [...form.querySelectorAll("fieldset")];
    const right = questions.filter((question) => {
      const chosen = question.querySelector("input:checked");
      const isRight = chosen?.value === question.dataset.right;
      const lead = document.createElement("b");
      lead.textContent = !chosen ? "Choose an answer first." : isRight ? "Right." : "Not so.";
      const explanation = chosen ? ` ${question.querySelector(".explanation").textContent}` : "";
      question.querySelector(".verdict").replaceChildren(lead, explanation);
      return isRight;
    });
    form.querySelector(".summary").textContent = `${right.length} of ${questions.length} right.`;
  });
}

const foldButton = document.querySelector(".fold-code");
foldButton.addEventListener("click", () => {
  const folds = foldButton.textContent === "Fold all code";
  for (const code of document.querySelectorAll("details.code")) code.open = !folds;
  foldButton.textContent = folds ? "Show all code" : "Fold all code";
});

const contents = document.querySelector("nav[aria-label=Contents] details");
contents.open = matchMedia("(min-width: 72rem)").matches;

// What is wider than the page scrolls inside itself; then the keyboard must be able to reach it.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});
for (const wide of document.querySelectorAll("pre, .scroll, .formula.display")) widths.observe(wide);
