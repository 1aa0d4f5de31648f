/* The step viewer: a list of items with filters, and the chosen item with its chains of steps and their matches.
   All text of a model or a dataset goes in through textContent; nothing here parses HTML. */

"use strict";

const LONG_STEP = 600; // characters of a step before it is cut
const LONG_TEXT = 20000; // the same of a raw response
const LISTED = 150; // rows of the list that are drawn at once
const WIDE = window.matchMedia("(min-width: 1080px)");
const VERDICTS = {
  right: (run) => run.strict,
  wrong: (run) => !run.strict,
  parted: (run) => run.strict !== run.paper,
};

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

const viewer = document.getElementById("steps");
const part = (name) => viewer.querySelector(`[data-part="${name}"]`);
const readJson = (id) => JSON.parse(document.getElementById(id).textContent);

const viewed = {
  board: null, // data of the board: models, rows, bodies, chunk
  pictures: null,
  found: [], // rows that pass the filters
  drawn: 0,
  item: null,
  waiting: new Map(), // chunk file -> callbacks
};

function openBoard(place) {
  const id = `items-${place}`;
  viewed.pictures = viewed.pictures || readJson("pictures");
  viewed.board = { place, ...readJson(id) };
  for (const row of viewed.board.rows) {
    row.runs = row.runs.map((run) => run && { strict: run[0] === 1, paper: run[1] === 1, diagnosis: run[2], status: run[3], f1: run[4] });
  }
  viewed.board.byId = new Map(viewed.board.rows.map((row) => [row.id, row]));
  fillModels();
  fillChoice("source", unique(viewed.board.rows.map((row) => row.source)), (name) => name || "unknown");
  const runs = viewed.board.rows.flatMap((row) => row.runs.filter(Boolean));
  fillChoice("status", unique(runs.map((run) => run.status)));
  const present = new Set(runs.map((run) => run.diagnosis));
  fillChoice("diagnosis", Object.keys(viewed.board.diagnoses).filter((key) => present.has(key)), diagnosisName);
  part("search").value = "";
  viewed.item = null;
  part("chosen").textContent = viewed.board.chosen;
  applyFilters();
}

const unique = (values) => [...new Set(values)].sort();
const diagnosisName = (key) => (viewed.board.diagnoses[key] || { label: key || "no diagnosis" }).label;

function fillModels() {
  const names = viewed.board.models;
  const option = (place) => create("option", { value: place, text: names[place] });
  const places = names.map((_, place) => place).filter((place) => viewed.board.rows.some((row) => row.runs[place]));
  part("model").replaceChildren(...places.map(option));
  part("other").replaceChildren(create("option", { value: "", text: "nothing" }), ...places.map(option));
}

function fillChoice(name, values, label = (value) => value) {
  const options = values.map((value) => create("option", { value, text: label(value) }));
  part(name).replaceChildren(create("option", { value: "*", text: "all" }), ...options);
}

const chosenModel = () => Number(part("model").value);
const otherModel = () => (part("other").value === "" ? null : Number(part("other").value));

/* ---- list ---- */

function haystack(row) {
  if (row.haystack === undefined) {
    const body = viewed.board.bodies[row.id];
    const texts = [String(row.id), row.source, row.question];
    if (body) collect(body, texts);
    row.haystack = texts.join("\n").toLowerCase();
  }
  return row.haystack;
}

function collect(value, into) {
  if (typeof value === "string") into.push(value);
  else if (value && typeof value === "object") Object.values(value).forEach((inner) => collect(inner, into));
}

function applyFilters() {
  const model = chosenModel();
  const wanted = Object.fromEntries(["source", "verdict", "diagnosis", "status"].map((name) => [name, part(name).value]));
  const query = part("search").value.trim().toLowerCase();
  const sort = part("order").value;
  const found = viewed.board.rows.filter((row) => {
    const run = row.runs[model];
    if (!run) return false;
    if (wanted.source !== "*" && row.source !== wanted.source) return false;
    if (wanted.verdict !== "*" && !VERDICTS[wanted.verdict](run)) return false;
    if (wanted.diagnosis !== "*" && run.diagnosis !== wanted.diagnosis) return false;
    if (wanted.status !== "*" && run.status !== wanted.status) return false;
    return !query || haystack(row).includes(query);
  });
  if (sort === "worst") found.sort((a, b) => a.runs[model].f1 - b.runs[model].f1);
  if (sort === "best") found.sort((a, b) => b.runs[model].f1 - a.runs[model].f1);
  viewed.found = found;
  viewed.drawn = 0;
  part("list").replaceChildren();
  part("count").textContent = `${found.length.toLocaleString("en")} of ${viewed.board.rows.length.toLocaleString("en")} items`;
  const still = viewed.item !== null && found.some((row) => row.id === viewed.item);
  drawRows(still ? found.findIndex((row) => row.id === viewed.item) + 1 : 0);
  if (still) markCurrent();
  else choose(found.length ? found[0].id : null);
}

function drawRows(atLeast = 0) {
  const until = Math.min(viewed.found.length, Math.max(viewed.drawn + LISTED, atLeast));
  const list = part("list");
  const made = viewed.found.slice(viewed.drawn, until).map(listRow);
  viewed.drawn = until;
  list.append(...made);
  part("more").hidden = until >= viewed.found.length;
}

function listRow(row) {
  const run = row.runs[chosenModel()];
  const title = create("span", { class: "row-title" },
    create("span", { class: "row-id", text: `#${row.id}` }),
    create("span", { text: `${row.source || "no source"} · ${row.steps} steps` }),
    create("span", { class: "row-verdict", text: `${run.strict ? "✓" : "✗"} F1 ${digits(run.f1, 2)}`,
      "aria-label": `${run.strict ? "right" : "wrong"}, Match F1 ${digits(run.f1, 2)}` }));
  const button = create("button", { type: "button", class: "row", "data-item": row.id, tabindex: "-1",
    onclick: () => choose(row.id, { link: true }) }, title);
  if (row.question) button.append(foreign("span", row.question.slice(0, 140), { class: "row-question" }));
  if (run.diagnosis) button.append(create("span", { class: "row-diagnosis", text: diagnosisName(run.diagnosis) }));
  return create("li", {}, button);
}

function markCurrent() {
  const list = part("list");
  for (const old of list.querySelectorAll("[aria-current]")) {
    old.removeAttribute("aria-current");
    old.tabIndex = -1;
  }
  const current = list.querySelector(`[data-item="${viewed.item}"]`);
  if (!current) return;
  current.setAttribute("aria-current", "true");
  current.tabIndex = 0;
  // Only the list scrolls, never the page.
  const top = current.offsetTop;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + current.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top + current.offsetHeight - list.clientHeight;
  }
}

function step(by) {
  const place = viewed.found.findIndex((row) => row.id === viewed.item);
  const next = viewed.found[Math.max(0, Math.min(viewed.found.length - 1, place + by))];
  if (!next) return;
  const wasInList = part("list").contains(document.activeElement);
  if (viewed.found.indexOf(next) >= viewed.drawn) drawRows();
  choose(next.id, { link: true });
  if (wasInList) part("list").querySelector("[aria-current]").focus({ preventScroll: true });
}

/* ---- chosen item ---- */

function choose(id, { link = false } = {}) {
  viewed.item = id;
  markCurrent();
  if (link) writeLink();
  const place = part("item");
  if (id === null) {
    place.replaceChildren(create("p", { class: "blank", text: "No item passes these filters." }));
    return;
  }
  withBody(id, (body) => {
    if (viewed.item === id) drawItem(viewed.board.byId.get(id), body);
  });
}

/* Bodies beside the page come in by script tags, which also work where a page is opened from disk. */
function withBody(id, use) {
  const board = viewed.board;
  if (board.bodies[id]) {
    use(board.bodies[id]);
    return;
  }
  const file = board.files && board.files[Math.floor(board.rows.findIndex((row) => row.id === id) / board.a_file)];
  if (!file) return;
  const arrived = () => use(board.bodies[id]);
  if (viewed.waiting.has(file)) {
    viewed.waiting.get(file).push(arrived);
    return;
  }
  viewed.waiting.set(file, [arrived]);
  part("item").replaceChildren(create("p", { class: "blank", text: "Loading …" }));
  const failed = () => {
    viewed.waiting.delete(file);
    part("item").replaceChildren(create("p", { class: "blank",
      text: `${file} could not be read; it has to lie beside this page, as crystal-eval report wrote it.` }));
  };
  document.head.append(create("script", { src: file, onerror: failed }));
}

window.crystalItems = (file, bodies, pictures) => {
  const board = viewed.board;
  if (!board.files.includes(file)) return;
  Object.assign(board.bodies, bodies);
  Object.assign(viewed.pictures, pictures);
  for (const use of viewed.waiting.get(file) || []) use();
  viewed.waiting.delete(file);
};

function drawItem(row, body) {
  const first = chosenModel();
  const second = otherModel() === first ? null : otherModel();
  const models = [first, second].filter((model) => model !== null && body.runs[model]);
  const head = create("div", { class: "item-head" },
    create("h3", { text: `Item ${row.id}` }),
    create("p", { class: "item-facts", text: `${row.source || "source unknown"} · ${row.steps} reference steps` }));
  part("item").replaceChildren(head, question(body), ...models.map((model) => verdict(model, row, body)),
    ...diagrams(models, body), ...models.map((model) => response(model, body)));
  drawCurves();
}

function question(body) {
  if (body.question === undefined) {
    return create("p", { class: "blank", text: "Questions, pictures and texts are left out of this public page." });
  }
  const words = create("div", { class: "question-words" }, foreign("p", body.question, { class: "question-text", limit: 3000 }));
  if (body.options.length) {
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const options = body.options.map((option, place) =>
      create("li", {}, create("b", { text: `${letters[place] || place + 1} ` }), foreign("span", option)));
    words.append(create("ol", { class: "options" }, ...options));
  }
  words.append(create("p", { class: "answer" }, create("span", { class: "label", text: "Reference answer " }), foreign("b", body.answer)));
  const block = create("div", { class: "question" }, words);
  const picture = viewed.pictures[body.image];
  // Only what this page brought with it is shown.
  if (picture && picture.startsWith("data:image/webp;base64,")) {
    block.append(create("img", { src: picture, alt: "The picture that the question is about", class: "picture" }));
  }
  return block;
}

function verdict(model, row, body) {
  const chain = body.runs[model];
  const run = row.runs[model];
  const mark = (right, rule) => create("span", { class: `badge ${right ? "right" : "wrong"}`, text: `${right ? "✓ right" : "✗ wrong"} ${rule}` });
  const line = create("div", { class: "verdict" }, create("h4", {}, foreign("span", viewed.board.models[model])));
  if (chain.answer !== undefined) {
    line.append(create("p", { class: "answer" }, create("span", { class: "label", text: "answers " }), foreign("b", chain.answer)));
  }
  line.append(create("p", { class: "badges" }, mark(run.strict, "strictly"), mark(run.paper, "by the paper’s rule"),
    run.diagnosis ? create("span", { class: "badge", text: diagnosisName(run.diagnosis),
      title: viewed.board.diagnoses[run.diagnosis].sentence }) : null,
    run.status && run.status !== "valid" ? create("span", { class: "badge", text: `format: ${run.status}` }) : null,
    chain.truncated ? create("span", { class: "badge", text: "truncated" }) : null));
  const scores = [["Match F1", "match_f1"], ["precision", "precision"], ["recall", "recall"], ["Ordered F1", "ordered_f1"]];
  if (chain.scores.null_f1 !== null) scores.push(["null", "null_f1"]);
  line.append(create("p", { class: "scores" }, ...scores.map(([label, key]) =>
    create("span", {}, create("span", { class: "label", text: `${label} ` }), create("b", { text: digits(chain.scores[key]) })))));
  return line;
}

function response(model, body) {
  const text = body.runs[model].response;
  if (text === undefined) return null;
  const details = create("details", { class: "raw" },
    create("summary", {}, "Raw response of ", foreign("span", viewed.board.models[model])));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(foreign("pre", text, { limit: LONG_TEXT }));
  });
  return details;
}

/* ---- steps and their matches ---- */

function diagrams(models, body) {
  if (!models.length) return [];
  if (models.length === 2 && WIDE.matches) {
    return [diagram([chainColumn(models[0], body), canal(models[0], "left"), referenceColumn(models, body), canal(models[1], "right"), chainColumn(models[1], body)], "five")];
  }
  return models.map((model) => diagram([chainColumn(model, body), canal(model, "left"), referenceColumn([model], body)], "three"));
}

const diagram = (columns, kind) => create("div", { class: `chains ${kind}` }, ...columns);

function canal(model, side) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("aria-hidden", "true");
  return Object.assign(create("div", { class: "canal", "data-model": model, "data-side": side }, drawing));
}

const textOf = (steps, place) => (Array.isArray(steps) ? steps[place] : null);
const countOf = (steps) => (Array.isArray(steps) ? steps.length : steps);

function chainColumn(model, body) {
  const { steps, pairs } = body.runs[model];
  const byPredicted = new Map(pairs.map((pair) => [pair[0], pair]));
  const made = Array.from({ length: countOf(steps) }, (_, place) => {
    const pair = byPredicted.get(place);
    const words = pair ? [`matches ${pair[1] + 1}`, digits(pair[2], 2), pair[3] ? null : "⤨ out of order"] : ["○ no match"];
    return stepBox(place, textOf(steps, place), [words.filter(Boolean).join(" · ")], pair ? (pair[3] ? "" : "disordered") : "unmatched");
  });
  return column(viewed.board.models[model], `${made.length} steps`, made, "chain", model);
}

function referenceColumn(models, body) {
  const maps = models.map((model) => new Map(body.runs[model].pairs.map((pair) => [pair[1], pair])));
  const names = models.length === 2 ? ["left: ", "right: "] : [""];
  const made = Array.from({ length: countOf(body.reference) }, (_, place) => {
    const lines = maps.map((map, side) => {
      const pair = map.get(place);
      return names[side] + (pair ? `found in ${pair[0] + 1} · ${digits(pair[2], 2)}` : "○ not covered");
    });
    return stepBox(place, textOf(body.reference, place), lines, maps.some((map) => map.has(place)) ? "" : "unmatched");
  });
  return column("Reference", `${made.length} steps`, made, "reference");
}

function column(name, note, steps, kind, model) {
  const title = create("h5", {}, foreign("span", name), create("span", { class: "label", text: ` ${note}` }));
  return create("div", { class: `column ${kind}`, "data-model": model }, title, create("ol", {}, ...steps));
}

function stepBox(place, text, lines, state) {
  const box = create("li", { class: `step ${state}`, "data-step": place }, create("span", { class: "number", text: place + 1 }));
  const inner = create("div", { class: "step-inner" });
  if (text !== null) inner.append(foreign("p", text));
  lines.forEach((line) => inner.append(create("p", { class: "match", text: line })));
  box.append(inner);
  return box;
}

function drawCurves() {
  for (const canalElement of viewer.querySelectorAll(".canal")) drawCanal(canalElement);
}

function drawCanal(place) {
  const body = viewed.board.bodies[viewed.item];
  const model = Number(place.dataset.model);
  const grid = place.closest(".chains");
  const chain = grid.querySelector(`.chain[data-model="${model}"]`);
  const reference = grid.querySelector(".reference");
  const area = place.getBoundingClientRect();
  const drawing = place.querySelector("svg");
  drawing.setAttribute("viewBox", `0 0 ${area.width} ${area.height}`);
  const middle = (column, index) => {
    const box = column.querySelector(`[data-step="${index}"]`).getBoundingClientRect();
    return box.top + Math.min(box.height / 2, 60) - area.top;
  };
  const mirrored = place.dataset.side === "right";
  const [from, to] = mirrored ? [area.width, 0] : [0, area.width];
  const toRight = mirrored ? -1 : 1;
  const curves = body.runs[model].pairs.map(([predicted, referenceStep, similarity, ordered]) => {
    const [y1, y2] = [middle(chain, predicted), middle(reference, referenceStep)];
    const bend = area.width * 0.5 * toRight;
    const path = svg("path", {
      d: `M ${from} ${y1} C ${from + bend} ${y1}, ${to - bend} ${y2}, ${to} ${y2}`,
      class: ordered ? "curve" : "curve disordered",
      "stroke-width": (0.8 + 2.4 * similarity).toFixed(2),
    });
    const label = svg("text", { x: from + 6 * toRight, y: y1 - 4, class: ordered ? "" : "disordered", "text-anchor": mirrored ? "end" : "start" });
    label.textContent = digits(similarity, 2);
    return [path, label];
  });
  drawing.replaceChildren(...curves.map(([path]) => path), ...curves.map(([, label]) => label));
}

function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/* ---- links and keys ---- */

function writeLink() {
  const names = viewed.board.models;
  const link = new URLSearchParams({ item: viewed.item, model: names[chosenModel()] });
  if (otherModel() !== null) link.set("with", names[otherModel()]);
  if (viewed.board.place) link.set("board", viewed.board.place);
  history.replaceState(null, "", `#${link}`);
}

/* Whether the hash names an item: then it is shown, past the filters where they would hide it. */
function readLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  if (!link.has("item")) return false;
  const board = Number(link.get("board") || 0);
  if (!viewed.board || viewed.board.place !== board) showBoard(board);
  if (!viewed.board || viewed.board.place !== board) return false;
  const model = viewed.board.models.indexOf(link.get("model"));
  if (model >= 0) part("model").value = model;
  const other = viewed.board.models.indexOf(link.get("with"));
  part("other").value = other >= 0 ? other : "";
  for (const name of ["source", "verdict", "diagnosis", "status"]) part(name).value = "*";
  part("search").value = "";
  const id = Number(link.get("item"));
  if (!viewed.board.byId.has(id)) {
    applyFilters();
    part("count").textContent = `Item ${id} is not among the items of this page; make it with --items all.`;
    return true;
  }
  viewed.item = id;
  applyFilters();
  choose(id);
  return true;
}

function startViewer() {
  for (const name of ["source", "verdict", "diagnosis", "status", "order"]) {
    part(name).addEventListener("change", applyFilters);
  }
  part("model").addEventListener("change", () => {
    applyFilters();
    choose(viewed.item, { link: true });
  });
  part("other").addEventListener("change", () => choose(viewed.item, { link: true }));
  let typing;
  part("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(applyFilters, 120);
  });
  part("more").addEventListener("click", () => drawRows());
  part("list").addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(Number.isFinite(by) ? by : by * 1);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest && event.target.closest("input, select, textarea")) return;
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  });
  WIDE.addEventListener("change", () => viewed.item !== null && choose(viewed.item));
  new ResizeObserver(() => drawCurves()).observe(part("item"));
  window.addEventListener("beforeprint", drawCurves);
  window.addEventListener("hashchange", () => readLink() && viewer.scrollIntoView());
}
