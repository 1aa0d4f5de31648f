/* The chosen item: its question, the verdicts, and chains of steps side by side with their matches drawn between. */

"use strict";

const LONG_TEXT = 20000; // characters of a raw response before it is cut
const WIDE = window.matchMedia("(min-width: 1080px)"); // three columns of steps fit

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
  const words = create("div", { class: "question-words" }, foreign("p", body.question, { class: "question-text" }));
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
  if (!body || !body.runs[model]) return; // another item is on its way
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
