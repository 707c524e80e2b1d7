/* Pause, resume, cancel and retry, where the server allows it: buttons, a dialog that asks, and what came of it. The server stores
 * a request; the campaign's sweep acts upon it, and an event says when. */
import { byId, el, name, say } from "./serve_dom.js";
import { postJson } from "./serve_api.js";
import { clock, counted, known } from "./serve_text.js";

let csrf = null; /* null: nothing may be changed from here */

/* What api/v1/session says of this client. */
export const allowBy = (session) => { csrf = session.control ? session.csrf : null; };

/* ---- the dialog ---- */

function focusAgain(key) {
  const button = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
  (button || byId("content")).focus({ preventScroll: true });
}

function tell(text, wrong) {
  const said = byId("said");
  said.hidden = false;
  said.classList.toggle("wrong", wrong);
  say(byId("said-text"), text.charAt(0).toUpperCase() + text.slice(1));
}

async function send(request) {
  try {
    tell(`${(await postJson("control", request, { "X-Wattlaw-CSRF": csrf })).text}.`, false);
  } catch (why) {
    tell(`Not done: ${why.message}`, true);
  }
}

/* what: {title, text, act: label of the button that does it, request, key: of the button that asked}. Closing it in any other way
 * than by that button changes nothing. */
function ask(what) {
  const dialog = byId("ask"), yes = byId("ask-yes");
  if (dialog.open) return;
  say(byId("ask-title"), what.title);
  say(byId("ask-text"), what.text);
  say(yes, what.act);
  yes.onclick = () => dialog.close("yes");
  byId("ask-no").onclick = () => dialog.close("no");
  dialog.returnValue = "no";
  dialog.onclose = () => {
    if (dialog.returnValue === "yes") send(what.request);
    focusAgain(what.key);
  };
  dialog.showModal();
  byId("ask-no").focus();
}

const button = (label, key, what) => el("button", { type: "button", class: "act", "data-key": key, onclick: () => ask({ ...what, key }) }, label);

/* ---- of a run ---- */

function cancelButton(id, state) {
  const runs = state === "running";
  return button(`cancel run ${id}`, `cancel ${id}`, {
    title: `Cancel run ${id}?`, act: "Cancel the run", request: { action: "cancel", run: id },
    text: `${runs ? "Its job is stopped (SIGTERM) and its caps are restored" : "It does not begin"}. It counts as failed, and is not repeated unless it is retried. The campaign continues with the next run.`,
  });
}

const retryButton = (id) => button(`retry run ${id}`, `retry ${id}`, {
  title: `Retry run ${id}?`, act: "Retry the run", request: { action: "retry", run: id },
  text: "It gets another attempt. The failed run, its log and its files stay.",
});

/* The button that fits the state of a run; null: there is nothing to do, or it is not allowed. */
export function runButton(id, state, alive) {
  if (!csrf) return null;
  if (state === "planned" || (state === "running" && alive !== false)) return cancelButton(id, state);
  return state === "failed" ? retryButton(id) : null;
}

/* ---- of a campaign ---- */

function pauseButton(store, c) {
  const { paused } = c.control, request = { action: paused ? "resume" : "pause", store, campaign: c.campaign };
  return button(paused ? "resume" : "pause", `pause ${store} ${c.campaign}`, paused
    ? { title: `Resume ${c.campaign}?`, act: "Resume", request, text: "Runs begin again." }
    : { title: `Pause ${c.campaign}?`, act: "Pause", request, text: "No further run begins until it is resumed. A run that is running goes on to its end." });
}

const retryAll = (store, c) => button(`retry ${counted(c.runs.failed, "failed run")}`, `retry all ${store} ${c.campaign}`, {
  title: `Retry ${counted(c.runs.failed, "failed run")}?`, act: "Retry", request: { action: "retry", store, campaign: c.campaign },
  text: `Each failed run of ${c.campaign} gets another attempt. The failed runs, their logs and files stay.`,
});

function requestText(r) {
  const came = r.outcome ? `, ${r.action === "cancel" ? `closed as ${r.outcome}` : r.outcome}` : "";
  return [`${clock(r.asked_ms)} ${r.action}${r.run ? ` run ${r.run}` : ""}, by `, name(r.by), known(r.acted_ms) ? came : ", not acted upon yet"];
}

function requests(store, c) {
  const list = c.control.requests;
  const key = `requests ${store} ${c.campaign}`;
  return list.length === 0 ? null : el("details", { class: "requests", open: opened.has(key), ontoggle: (event) => (event.target.open ? opened.add(key) : opened.delete(key)) },
    el("summary", { "data-key": key }, `Requests (${list.length === 20 ? "the last 20" : list.length})`), el("ul", {}, list.map((r) => el("li", {}, requestText(r)))));
}

const opened = new Set();

/* Is it paused, by whom; buttons where they are allowed; what was asked for. Null: of a campaign of measure. */
export function controlElement(store, c) {
  if (!c.control) return null;
  const left = c.runs.running + c.runs.planned + c.runs.interrupted > 0;
  const state = c.control.paused ? el("p", { class: "paused" }, el("strong", {}, "Paused"), " by ", name(c.control.by), ` since ${clock(c.control.since_ms)}${c.runs.running ? ": a run that is running goes on to its end" : ""}.`) : null;
  const buttons = csrf ? [left || c.control.paused ? pauseButton(store, c) : null, c.runs.failed ? retryAll(store, c) : null].filter(Boolean) : [];
  return el("div", { class: "control" }, state, buttons.length ? el("p", { class: "buttons" }, buttons) : null,
    csrf && c.control.sweep === false && left ? el("p", { class: "source" }, "No sweep runs it now: requests wait for the next ", el("code", {}, "wattlaw sweep"), ".") : null, requests(store, c));
}
