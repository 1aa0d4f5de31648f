/* The page around the step viewer: theme, tabs of boards, sorting, rows of the paper, and tables as CSV. */

"use strict";

/* ---- theme: what the reader chose before, else what the system says ---- */

const THEMES = ["auto", "light", "dark"];

function remembered() {
  try {
    return localStorage.getItem("crystal-theme") || "auto";
  } catch {
    return "auto"; // storage may be off for pages opened from disk
  }
}

function applyTheme(choice) {
  if (choice === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
  document.getElementById("theme").textContent = `Colours: ${choice}`;
}

function startTheme() {
  let choice = remembered();
  applyTheme(choice);
  document.getElementById("theme").addEventListener("click", () => {
    choice = THEMES[(THEMES.indexOf(choice) + 1) % THEMES.length];
    try {
      localStorage.setItem("crystal-theme", choice);
    } catch { /* not remembered then */ }
    applyTheme(choice);
  });
}

/* ---- boards ---- */

const panels = [...document.querySelectorAll(".panel")];
const tabs = [...document.querySelectorAll('[role="tab"]')];

function showBoard(place) {
  if (!panels[place]) return;
  panels.forEach((panel, index) => { panel.hidden = index !== place; });
  tabs.forEach((tab, index) => {
    tab.setAttribute("aria-selected", index === place);
    tab.tabIndex = index === place ? 0 : -1;
  });
  if (!viewer) return;
  viewer.hidden = document.getElementById(`items-${place}`) === null;
  if (!viewer.hidden) openBoard(place);
}

/* The links at the top lead to the parts of the board that is shown; those of the first have plain names. */
function startLinks() {
  for (const link of document.querySelectorAll(".mast nav a")) {
    link.addEventListener("click", (event) => {
      const shown = panels.findIndex((panel) => !panel.hidden);
      const target = document.getElementById(`${link.hash.slice(1)}-${shown}`);
      if (!target) return;
      event.preventDefault();
      target.scrollIntoView();
    });
  }
}

function startTabs() {
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => showBoard(index));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = (index + by + tabs.length) % tabs.length;
      showBoard(next);
      tabs[next].focus();
    });
  });
}

/* ---- tables ---- */

function sortRows(table, button) {
  const { column, part = 0 } = button.dataset;
  const descending = button.dataset.direction !== "descending";
  for (const other of table.querySelectorAll(".sort")) delete other.dataset.direction;
  for (const head of table.querySelectorAll("thead th")) head.removeAttribute("aria-sort");
  button.dataset.direction = descending ? "descending" : "ascending";
  button.closest("th").setAttribute("aria-sort", button.dataset.direction);
  const values = (row) => (row.cells[column].dataset.values || "").split("|")[part];
  const key = (row) => {
    const value = values(row);
    return value === "" || value === undefined ? null : button.dataset.text ? value : Number(value);
  };
  const sign = descending ? -1 : 1;
  const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
  // Rows without the value stay at the end, whichever way it is sorted.
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === "string" ? a.localeCompare(b, "en") : a - b);
  });
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

/* What a table shows as CSV: cells with several values name them in their heading's data-names. */
function asCsv(table) {
  const shown = [...table.tHead.rows].flatMap((row) => [...row.cells]);
  const heads = shown.flatMap((cell) => (cell.dataset.names || cell.textContent.trim()).split("|"));
  const lines = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) =>
    [...row.cells].flatMap((cell, place) => {
      const width = (shown[place].dataset.names || "").split("|").length;
      if (cell.dataset.values === undefined) return [cell.textContent.trim().replace(/\s+/g, " ")];
      const values = width > 1 ? cell.dataset.values.split("|") : [cell.dataset.values];
      return Array.from({ length: width }, (_, index) => values[index] || "");
    }));
  return [heads, ...lines].map((cells) => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/* Spreadsheets run what begins like a formula; a number is none. */
function quoted(value) {
  const harmless = /^[=+@\-\t\r]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value;
  return `"${harmless.replaceAll('"', '""')}"`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  const link = create("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

async function copy(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages opened from disk may not write to the clipboard; a selection can still be copied.
    const area = create("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}

function startTables() {
  for (const button of document.querySelectorAll(".sort")) {
    button.addEventListener("click", () => sortRows(button.closest("table"), button));
  }
  for (const button of document.querySelectorAll("[data-csv]")) {
    const table = () => document.getElementById(button.dataset.csv);
    button.addEventListener("click", () =>
      button.dataset.copy === undefined ? download(`${table().dataset.file}.csv`, asCsv(table())) : copy(button, asCsv(table())));
  }
  for (const button of document.querySelectorAll("[data-paper-rows]")) {
    button.addEventListener("click", () => {
      const wanted = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", wanted);
      const table = document.getElementById(button.dataset.paperRows);
      for (const row of table.querySelectorAll("tr.paper")) row.hidden = !wanted;
      document.getElementById(`${button.dataset.paperRows}-paper-note`).hidden = !wanted;
      const sorted = table.querySelector(".sort[data-direction]");
      if (sorted) {
        sorted.dataset.direction = sorted.dataset.direction === "descending" ? "ascending" : "descending";
        sortRows(table, sorted);
      }
    });
  }
  for (const choice of document.querySelectorAll("[data-choice]")) {
    choice.addEventListener("click", () => {
      for (const other of choice.parentElement.querySelectorAll("[data-choice]")) {
        other.setAttribute("aria-pressed", other === choice);
        document.getElementById(other.dataset.choice).hidden = other !== choice;
      }
    });
  }
}

startTheme();
startTabs();
startLinks();
startTables();
if (viewer) startViewer();
if (viewer && readLink()) viewer.scrollIntoView({ behavior: "instant" });
else showBoard(0);
