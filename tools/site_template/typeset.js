"use strict";
// What MathJax 2 reads when it starts. Its own fonts, from the folder beside it; MathML for screen readers.
window.MathJax = {
  tex2jax: { inlineMath: [["\\(", "\\)"]], displayMath: [["\\[", "\\]"]], preview: "none" },
  MMLorHTML: { prefer: "HTML" },
  "HTML-CSS": {
    availableFonts: [],
    webFont: "STIX-Web",
    imageFont: null,
    styles: { "@font-face": { "font-family": "MathJax_Blank", src: "local('MathJax_Blank')" } }, // not about:blank
  },
  "fast-preview": { disabled: true },
  menuSettings: { inTabOrder: false },
  showMathMenu: false,
  messageStyle: "none",
  AuthorInit() {
    // A list given above would be replaced by the one in MathJax's own configuration.
    MathJax.Hub.Register.StartupHook("End Config", () => MathJax.Hub.config.extensions.push("AssistiveMML.js"));
    MathJax.Hub.Register.StartupHook("End", fitFormulas);
  },
};

/** Put formulas that are too wide for the screen on lines of their own, which scroll. */
function fitFormulas() {
  const formulas = [...document.querySelectorAll(".formula:not(.display)")];
  for (const formula of formulas) formula.classList.remove("wide");
  const screen = document.documentElement.clientWidth;
  for (const wide of formulas.filter((formula) => formula.getBoundingClientRect().right > screen)) {
    wide.classList.add("wide");
    widths.observe(wide);
  }
}
addEventListener("resize", fitFormulas);
