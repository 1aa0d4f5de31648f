/* The step viewer: a list of items with filters and search, the item that is chosen, links to items, and keys. */

"use strict";

const LISTED = 150; // rows of the list that are drawn at once
const VERDICTS = {
  right: (run) => run.strict,
  wrong: (run) => !run.strict,
  parted: (run) => run.strict !== run.paper,
};

const viewer = document.getElementById("steps");
const part = (name) => viewer.querySelector(`[data-part="${name}"]`);
const readJson = (id) => JSON.parse(document.getElementById(id).textContent);

const viewed = {
  board: null, // data of the board: models, rows, bodies, files
  boards: new Map(), // boards by place, as far as they were opened
  pictures: null,
  found: [], // rows that pass the filters
  drawn: 0,
  item: null,
  waiting: new Map(), // file beside the page -> callbacks; its name tells the board too
};

function openBoard(place) {
  viewed.pictures = viewed.pictures || readJson("pictures");
  if (!viewed.boards.has(place)) viewed.boards.set(place, readBoard(place));
  viewed.board = viewed.boards.get(place);
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

function readBoard(place) {
  const board = { place, ...readJson(`items-${place}`), loaded: new Set(), failed: new Set() };
  for (const row of board.rows) {
    row.runs = row.runs.map((run) => run && { strict: run[0] === 1, paper: run[1] === 1, diagnosis: run[2], status: run[3], f1: run[4] });
  }
  board.byId = new Map(board.rows.map((row) => [row.id, row]));
  return board;
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
  const searched = query ? loadForSearch(viewed.board) : "";
  part("count").textContent = `${found.length.toLocaleString("en")} of ${viewed.board.rows.length.toLocaleString("en")} items${searched}`;
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
  if (viewed.found.indexOf(next) >= viewed.drawn) drawRows(viewed.found.indexOf(next) + 1);
  choose(next.id, { link: true });
  if (wasInList) part("list").querySelector("[aria-current]").focus({ preventScroll: true });
}

/* ---- chosen item ---- */

function choose(id, { link = false } = {}) {
  viewed.item = id;
  markCurrent();
  if (link) writeLink();
  if (id === null) {
    say("No item passes these filters.");
    return;
  }
  withBody(id, (body) => {
    if (viewed.item === id) drawItem(viewed.board.byId.get(id), body);
  });
}

function say(words) {
  part("item").replaceChildren(create("p", { class: "blank", text: words }));
}

function withBody(id, use) {
  const board = viewed.board;
  if (board.bodies[id]) {
    use(board.bodies[id]);
    return;
  }
  const file = board.files[Math.floor(board.rows.findIndex((row) => row.id === id) / board.a_file)];
  if (!file) return;
  say("Loading …");
  load(board, file, () => {
    if (viewed.board !== board || viewed.item !== id) return;
    if (board.bodies[id]) use(board.bodies[id]);
    else say(`${file} could not be read; it has to lie beside this page, as crystal-eval report wrote it.`);
  });
}

/* Bodies beside the page come in by script tags, which also work where a page is opened from disk. */
function load(board, file, settled) {
  if (viewed.waiting.has(file)) {
    viewed.waiting.get(file).push(settled);
    return;
  }
  viewed.waiting.set(file, [settled]);
  const end = (known) => {
    known.add(file);
    const callbacks = viewed.waiting.get(file);
    viewed.waiting.delete(file);
    for (const callback of callbacks) callback();
  };
  document.head.append(create("script", { src: file, onload: () => end(board.loaded), onerror: () => end(board.failed) }));
}

window.crystalItems = (file, bodies, pictures) => {
  const board = [...viewed.boards.values()].find((known) => known.files.includes(file));
  if (!board) return;
  Object.assign(board.bodies, bodies);
  Object.assign(viewed.pictures, pictures);
  for (const id of Object.keys(bodies)) delete board.byId.get(Number(id)).haystack;
};

/* Search is over the steps of all items, so it needs the files beside the page; says how many are still to come. */
function loadForSearch(board) {
  const missing = () => board.files.filter((file) => !board.loaded.has(file) && !board.failed.has(file));
  const left = missing();
  if (!board.searching) {
    board.searching = left.length > 0;
    for (const file of left) {
      load(board, file, () => {
        if (missing().length) return;
        board.searching = false;
        if (viewed.board === board) applyFilters();
      });
    }
  }
  if (left.length) return " so far; loading the steps of the others …";
  return board.failed.size ? "; those beside the page that could not be read are not searched" : "";
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
    step(by);
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
