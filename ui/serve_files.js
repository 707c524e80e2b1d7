/* The report and the tables of each store, as files. */
import { el, fill } from "./serve_dom.js";
import { downloadUrl, reportUrl } from "./serve_api.js";
import { counted } from "./serve_text.js";

const tables = [["runs.csv", "one row per run"], ["epochs.csv", "one row per epoch"], ["observations.csv", "the table that wattlaw fit, compare and recommend read"]];

function storeElement(store) {
  if (store.error) return el("article", {}, el("h3", {}, store.name), el("p", { class: "notice" }, `${store.path}: ${store.error}`));
  return el("article", {}, el("h3", {}, store.name, el("span", { class: "unit" }, ` ${counted(store.runs, "run")}`)), el("p", { class: "source" }, el("code", {}, store.path)),
    store.runs ? el("ul", { class: "files" },
      el("li", {}, el("a", { href: reportUrl(store.store), target: "_blank", rel: "noopener" }, "report"), el("span", { class: "muted" }, " all figures and tables of what is measured so far, in a page of its own")),
      tables.map(([name, what]) => el("li", {}, el("a", { href: downloadUrl(store.store, name), download: name }, name), el("span", { class: "muted" }, ` ${what}`)))) : el("p", { class: "empty" }, "There is no run in this store yet."));
}

export function filesView() {
  const list = el("div", {});
  return {
    title: "Report and files",
    element: el("section", { "aria-label": "Report and files" }, el("h2", {}, "Report and files"), list, el("p", { class: "source" }, "Readings of a run are in ", el("code", {}, "samples.csv"), " on the page of that run.")),
    overview({ stores }) { fill(list, stores.map(storeElement)); },
    close() {},
  };
}
