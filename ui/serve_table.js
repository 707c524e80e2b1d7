/* Tables and lists of facts that are read, not sorted. */
import { el } from "./serve_dom.js";

/* columns: [{head, of(row), t: text, to the left}]; what is long scrolls in a window of its own. Stacked: on a phone each row is a block
 * with the heads before the values. */
const LONG_ROWS = 14;

export function simpleTable(caption, columns, rows, stacked = false) {
  return el("figure", { class: "table" }, el("figcaption", {}, el("h3", {}, caption)), el("div", { class: rows.length > LONG_ROWS ? "scroll long" : "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: stacked ? "stacked" : null }, el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col", class: column.t ? "t" : null }, column.head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, columns.map((column, i) => el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: column.t ? "t" : null, "data-head": stacked ? column.head : null }, column.of(row)))))))));
}

/* [head, value...] of those that are not null. */
export const factList = (rows) => el("dl", { class: "facts" }, rows.filter(Boolean).map(([head, ...value]) => el("div", {}, el("dt", {}, head), el("dd", {}, ...value))));
