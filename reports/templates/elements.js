/* Elements of the page. All text of a model or a dataset goes in through textContent; nothing here parses HTML. */

"use strict";

const LONG_STEP = 600; // characters of a step before it is cut

function create(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/* Text that others wrote: isolated from our own in its direction, and cut where it is very long. */
function foreign(tag, text, { limit = LONG_STEP, ...properties } = {}) {
  const element = create(tag, { dir: "auto", ...properties });
  element.classList.add("foreign");
  if (text.length <= limit) {
    element.textContent = text || "(empty)";
    if (!text) element.classList.add("blank");
    return element;
  }
  const shown = create("span", { text: text.slice(0, limit) + " …" });
  const more = create("button", {
    type: "button",
    class: "link",
    text: `Show all ${text.length.toLocaleString("en")} characters`,
    onclick: () => {
      shown.textContent = text;
      more.remove();
      drawCurves();
    },
  });
  element.append(shown, " ", more);
  return element;
}

function digits(value, places = 3) {
  return value === null || value === undefined ? "–" : value.toFixed(places);
}

function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
