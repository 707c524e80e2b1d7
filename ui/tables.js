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

  function noteOf(figure) {
    let note = figure.querySelector("p.rows");
    if (note) return note;
    note = document.createElement("p");
    note.className = "source rows";
    figure.querySelector("figcaption").after(note);
    return note;
  }

  /* "25 of 1701 rows are about bert; ...": how many are shown, and where the others are. */
  function noteText(table, shown, there, what) {
    if (there === 0) return `No row is about ${what}.`;
    const all = there === 1 ? "The one row" : `All ${there} rows`;
    if (shown === there) return `${all} about ${what}.`;
    const here = shown === 0 ? "None of them is" : `${shown} of them ${shown === 1 ? "is" : "are"}`;
    const file = `tables/${table.closest("figure").id.slice("table-".length)}.csv`;
    return `${there} ${there === 1 ? "row is" : "rows are"} about ${what}. ${here} on this page, all are in ${file}, which wattlaw report --formats csv writes.`;
  }

  const few = 40; /* rows that are not folded (WL_REPORT_LONG_ROWS in src/report/table/cells.h) */

  /* Shows the rows whose key is picked: its workloads, its factor and the number of its rows in the whole table
   * (src/report/table/page.c). A key without workloads or factor is about all of them. */
  function filterRows(table, workload, factor) {
    const keys = JSON.parse(table.dataset.keys);
    const picks = ([of, about]) =>
      (workload === null || of.length === 0 || of.some((place) => workload.of.includes(place))) &&
      (factor === "" || about === null || about === factor);
    const names = [workload && keys.some(([of]) => of.length) ? workload.name : "", factor && keys.some(([, about]) => about !== null) ? factor : ""];
    const picked = keys.map(picks);
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !picked[row.dataset.k];
    const shown = rows.filter((row) => !row.hidden).length;
    const note = noteOf(table.closest("figure")), fold = table.closest("details");
    note.hidden = picked.every(Boolean);
    note.textContent = noteText(table, shown, keys.reduce((sum, key, k) => sum + (picked[k] ? key[2] : 0), 0), names.filter(Boolean).join(", "));
    if (fold && !note.hidden && shown <= few) fold.open = true;
  }

  return {
    sortable: () => tables.forEach(makeSortable),
    /* The rows of a workload, {name, of: its places in the keys of rows}, and of a factor; null and "": of every one. */
    filter: (workload, factor) => tables.filter((table) => table.dataset.keys).forEach((table) => filterRows(table, workload, factor)),
  };
})();
