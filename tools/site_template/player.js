// Plays a widget's recorded frames (tools/site_frames.py): a slider picks the frame, a radio button the state.
// A picture is decoded before it is shown, and is not shown if the reader has moved on by then.
(() => {
  "use strict";
  const AHEAD = 3; // frames fetched on either side of the one shown

  function play(figure) {
    const find = (selector) => figure.querySelector(selector);
    const states = JSON.parse(find(".player-frames").textContent);
    const image = find(".player-image");
    const controls = find(".player-controls");
    const slider = find("input[type=range]");
    const jumps = figure.querySelectorAll(".player-jumps button");
    const radios = figure.querySelectorAll(".player-states input");
    const readout = find(".player-readout");
    const pictures = new Map(); // address → promise of the picture, decoded
    let state = states[0];

    function fetchPicture(address) {
      if (!pictures.has(address)) {
        const picture = new Image();
        picture.src = address;
        const fetched = picture.decode().then(() => picture);
        fetched.catch(() => pictures.delete(address)); // asked for again when it is wanted again
        pictures.set(address, fetched);
      }
      return pictures.get(address);
    }

    function fetchNeighbours() {
      const here = slider.valueAsNumber;
      for (const { src } of state.frames.slice(Math.max(here - AHEAD, 0), here + AHEAD + 1)) {
        fetchPicture(src).catch(() => {});
      }
    }

    async function show() {
      const { ground, frames } = state;
      const frame = frames[slider.valueAsNumber];
      slider.setAttribute("aria-valuetext", frame.value);
      find(".player-value").textContent = frame.value;
      await Promise.all([fetchPicture(ground), fetchPicture(frame.src)]);
      if (frame !== state.frames[slider.valueAsNumber]) return;
      image.style.backgroundImage = `url("${ground}")`;
      image.src = frame.src;
      image.alt = readout.textContent = frame.readout;
      fetchNeighbours();
    }

    function offerJumps() {
      for (const button of jumps) button.hidden = !(button.textContent in state.jumps);
    }

    function enter(number, place) {
      state = states[number];
      find(".player-slider span").textContent = state.slider;
      slider.max = state.frames.length - 1;
      slider.value = place;
      radios[number].checked = true;
      offerJumps();
      show();
    }

    slider.addEventListener("input", show);
    controls.addEventListener("submit", (event) => event.preventDefault()); // Enter must not reload the page
    controls.addEventListener("focusin", fetchNeighbours);
    controls.addEventListener("pointerover", fetchNeighbours);
    for (const radio of radios) {
      radio.addEventListener("change", () => enter(radio.value, states[radio.value].start));
    }
    for (const button of jumps) {
      button.addEventListener("click", () => enter(...state.jumps[button.textContent]));
    }
    offerJumps();
    controls.hidden = false;
  }

  document.querySelectorAll(".player").forEach(play);
})();
