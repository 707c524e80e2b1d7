/* A failed run: why, and the tail of its log when it is opened. */
import { el, fill, name } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { runButton } from "./serve_control.js";
import { runLink } from "./serve_route.js";

const tails = new Map(); /* by run; a log that has ended stays the same */
const opened = new Set();

async function showTail(id, place) {
  if (!tails.has(id)) {
    try {
      tails.set(id, (await get(`runs/${id}`)).log_tail);
    } catch (why) {
      fill(place, el("p", { class: "source" }, why.message));
      return;
    }
  }
  const tail = tails.get(id);
  fill(place, tail ? el("pre", { class: "log", tabindex: "0", "aria-label": `end of the log of run ${id}` }, tail) : el("p", { class: "source" }, "Its log is empty."));
}

export function failedElement(run) {
  const place = el("div", {});
  const details = el("details", { class: "failed", open: opened.has(run.id) },
    el("summary", { "data-key": `failed ${run.id}` }, el("strong", {}, `run ${run.id}`), " ", name(run.words), `, repeat ${run.repeat}: `, el("bdi", { class: "error" }, run.error || "it says no reason")),
    place, el("p", {}, el("a", { href: runLink(run.id), "data-key": `failed link ${run.id}` }, `all of run ${run.id}`), " ", runButton(run.id, "failed")));
  details.addEventListener("toggle", () => {
    if (details.open) opened.add(run.id);
    else opened.delete(run.id);
    if (details.open) showTail(run.id, place);
  });
  if (details.open) showTail(run.id, place);
  return details;
}
