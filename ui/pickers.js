/* Which figures and tables of report.html are shown: those of the workload and factor that are picked; and the contents,
 * with their search. */
"use strict";
const pagePickers = (() => {
  const figureElements = [...document.querySelectorAll("figure.chart")];
  const pickable = [...figureElements, ...document.querySelectorAll("figure.table[data-workload], figure.table[data-factor]")];
  const picked = { workload: "", factor: "" }; /* "": every one; "together": figures of all workloads */
  const together = "\u0000together";

  const valuesOf = (what) => [...new Set(figureElements.map((f) => f.dataset[what]).filter(Boolean))];

  function isPicked(figure) {
    const { workload, factor } = figure.dataset;
    const ofWorkload = picked.workload === "" || (picked.workload === together ? !workload : workload === picked.workload);
    return ofWorkload && (picked.factor === "" || factor === picked.factor);
  }

  /* The workload, or those of a view, as tables know them; null: the rows of all. */
  function pickedRows() {
    const figure = figureElements.find((f) => f.dataset.workload === picked.workload);
    const of = figure ? JSON.parse(figure.dataset.of) : [];
    return of.length ? { name: picked.workload, of } : null;
  }

  /* Buttons that pick the workloads of the figures that a section does not show. */
  function choicesOf(section, hidden) {
    const names = [...new Set(hidden.map((figure) => figure.dataset.workload || together))];
    return names.flatMap((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name === together ? "all together" : name;
      button.addEventListener("click", () => {
        pick(name);
        section.scrollIntoView();
      });
      return [button, " "];
    });
  }

  const counted = (n, one) => `${n} more ${one}${n === 1 ? "" : "s"}`;

  /* A section says how many there are of other workloads and factors. */
  function showPicked() {
    for (const figure of pickable) figure.hidden = !isPicked(figure);
    pageTables.filter(pickedRows(), picked.factor);
    for (const note of document.querySelectorAll("p.more")) {
      const section = note.closest("section");
      const hidden = pickable.filter((figure) => figure.hidden && section.contains(figure));
      const tables = hidden.filter((figure) => figure.classList.contains("table")).length;
      const figures = hidden.length - tables;
      note.hidden = hidden.length === 0;
      const counts = [figures ? counted(figures, "figure") : [], tables ? counted(tables, "table") : []].flat();
      note.replaceChildren(`${counts.join(", ")}: `, ...choicesOf(section, hidden));
    }
    for (const link of document.querySelectorAll("#contents a")) {
      const target = document.getElementById(link.hash.slice(1));
      link.classList.toggle("elsewhere", Boolean(target && target.hidden));
    }
  }

  function picker(parent, what, name, options) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    label.textContent = `${name} `;
    select.id = `pick-${what}`;
    for (const [value, text] of options) select.add(new Option(text, value));
    select.addEventListener("change", () => {
      picked[what] = select.value;
      showPicked();
    });
    label.append(select);
    parent.append(label);
    return select;
  }

  function pickers() {
    const parent = document.getElementById("pickers");
    const workloads = valuesOf("workload");
    const factors = valuesOf("factor");
    const few = 24; /* figures that can be looked through */
    for (const section of new Set(pickable.map((figure) => figure.closest("section")))) {
      const note = document.createElement("p");
      note.className = "more";
      const grid = section.querySelector(".figures") || section.querySelector("h2");
      grid.after(note);
    }
    if (workloads.length > 1) {
      const select = picker(parent, "workload", "workload",
        [[together, "all together"], ["", "every one"], ...workloads.map((name) => [name, name])]);
      select.value = picked.workload = figureElements.length > few ? together : "";
    }
    if (factors.length > 1) picker(parent, "factor", "factor", [["", "all"], ...factors.map((name) => [name, name])]);
    parent.hidden = parent.children.length === 0;
    showPicked();
  }

  /* Figures of a workload, of all factors. */
  function pick(workload) {
    Object.assign(picked, { workload, factor: "" });
    for (const what of ["workload", "factor"]) {
      const select = document.getElementById(`pick-${what}`);
      if (select) select.value = picked[what];
      else picked[what] = "";
    }
    showPicked();
  }

  /* A link to a figure that is not shown shows those of its workload. */
  function reveal(id) {
    const figure = document.getElementById(id);
    if (figure && figure.hidden) pick(figure.dataset.workload || together);
  }

  /* ---- contents ---- */

  function contents() {
    const list = document.getElementById("contents");
    const search = document.getElementById("search");
    const entries = [...list.querySelectorAll("li li")];
    list.open = matchMedia("(min-width: 1200px)").matches;
    search.hidden = false;
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const entry of entries) {
        const text = entry.textContent.toLowerCase();
        entry.hidden = !words.every((word) => text.includes(word));
      }
      for (const section of list.querySelectorAll("li:has(ul)"))
        section.hidden = words.length > 0 && !section.querySelector("li:not([hidden])");
    });
    list.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (link) reveal(link.hash.slice(1));
    });
    if (location.hash) reveal(location.hash.slice(1));
  }

  return {
    begin() {
      pickers();
      contents();
    },
  };
})();
