/* Tables of report.html: a click on a heading sorts, the page's pickers leave the rows of a workload and of a factor. Without
 * JavaScript tables are whole. */
"use strict";
const pageTables = (() => {
  const tables = [...document.querySelectorAll("figure.table table")];

  /* ---- sorting ---- */

  const cellValue = (row, at) => {
    const text = row.cells[at].textContent.trim();
    return text === "" ? null : isNaN(Number(text)) ? text : Number(text);
  };

  function compare(a, b) {
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function makeSortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.addEventListener("click", (event) => {
      if (event.target.closest("a")) return;
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((p, q) => compare(cellValue(p, at), cellValue(q, at)));
      body.append(...(down ? rows.reverse() : rows));
    }));
  }

  /* ---- rows ---- */

  const columnOf = (table, name) => [...table.tHead.rows[0].cells].findIndex((head) => head.textContent.trim() === name);

  /* The workload of a group's name, "bert" or "bert, cap 250 W": the longest that it begins with; null: it names none. */
  function workloadOf(text, workloads) {
    const found = workloads.filter((name) => text === name || text.startsWith(`${name}, `));
    return found.sort((p, q) => q.length - p.length)[0] ?? null;
  }

  /* The workloads that a row is about, none where it is about all ("all groups"); null: no row says. */
  function workloadReader(table, workloads) {
    const own = columnOf(table, "workload"), group = columnOf(table, "group");
    if (own >= 0) return (row) => [row.cells[own].textContent];
    if (group < 0) return null;
    return (row) => row.cells[group].textContent.split("; ").map((text) => workloadOf(text, workloads)).filter((name) => name !== null);
  }

  function isOf(names, workload) {
    return names.length === 0 || names.includes(workload);
  }

  function noteOf(figure) {
    let note = figure.querySelector("p.rows");
    if (note) return note;
    note = document.createElement("p");
    note.className = "source rows";
    figure.querySelector("figcaption").after(note);
    return note;
  }

  const few = 40; /* rows that are not folded (LONG_ROWS in src/report/table/formats.c) */

  function filterRows(table, workload, factor, workloads) {
    const figure = table.closest("figure"), fold = table.closest("details");
    const ofWorkload = workload === "" ? null : workloadReader(table, workloads);
    const at = factor === "" ? -1 : columnOf(table, "factor");
    const rows = [...table.tBodies[0].rows];
    for (const row of rows)
      row.hidden = Boolean(ofWorkload && !isOf(ofWorkload(row), workload)) || (at >= 0 && row.cells[at].textContent !== factor);
    const shown = rows.filter((row) => !row.hidden).length;
    const note = noteOf(figure);
    note.hidden = shown === rows.length;
    note.textContent = `${shown || "none"} of the ${rows.length} rows on this page: ${[ofWorkload ? workload : "", at >= 0 ? factor : ""].filter(Boolean).join(", ")}`;
    if (fold && !note.hidden && shown <= few) fold.open = true;
  }

  return {
    sortable: () => tables.forEach(makeSortable),
    /* Those of a workload and of a factor, "": every one. */
    filter: (workload, factor, workloads) => tables.forEach((table) => filterRows(table, workload, factor, workloads)),
  };
})();
