/* One run: what it took, its traces, epochs, phases, energies, caps and notes. */
import { el, fill, name } from "./serve_dom.js";
import { downloadUrl } from "./serve_api.js";
import { runButton } from "./serve_control.js";
import { elapsed, liveRun } from "./serve_live_run.js";
import { chooseRun, stateText } from "./serve_runs.js";
import { factList, simpleTable } from "./serve_table.js";
import { amount, amountBetween, badge, clock, digits, duration, known, missing, missingWith, orMissing, provenance, settingName } from "./serve_text.js";

const joules = (row) => (known(row.energy_j) ? [amountBetween(row.energy_j, row.energy_lo_j, row.energy_hi_j, "J"), provenance(row) ? ` ${provenance(row)}` : ""] : missing(row.why || row.energy_why || "not measured"));
const ended = (run, what) => (run.so_far ? "known when it ends" : what);

const orReason = (v, text, why) => (known(v) ? text(v) : missingWith(why));

function facts(run) {
  return factList([
    ["state", stateText(run.state || run.status), run.alive === false ? "; its wattlaw has died" : ""],
    ["time", run.so_far ? `${duration(elapsed(run))} so far` : orReason(run.time_s, duration, "not recorded")],
    [run.so_far ? "energy so far" : "energy", known(run.energy_j) ? [amountBetween(run.energy_j, run.energy_lo_j, run.energy_hi_j, "J"), " ", badge(run)] : missingWith(ended(run, "no energy was measured"))],
    ["mean power", orReason(run.mean_power_w, (v) => amount(v, "W"), ended(run, "no power was read"))],
    ["epoch", orReason(run.epoch_time_s, duration, "the run marked no epoch")],
    ["utilisation", orReason(run.util_pct, (v) => `${digits(v)} %`, ended(run, "no utilisation was read"))],
    run.metric ? [run.metric, orReason(run.metric_value, (v) => `${digits(v, 4)} ${run.metric_unit || ""}`, "the run reported none")] : null,
    ["started", run.started ? clock(Date.parse(run.started)) : missingWith("it has not begun")],
    ["host", run.host || missingWith("it has not begun")],
    ["repeat, attempt", `${run.repeat}, ${run.attempt}`],
    run.exit_status || run.signal ? ["ended with", run.signal ? `signal ${run.signal}` : `exit status ${run.exit_status}`] : null,
    run.source ? ["imported from", run.source] : null,
  ]);
}

const has = (list) => Array.isArray(list) && list.length > 0;

function epochs(run) {
  if (!has(run.epochs)) return null;
  const metrics = [...new Set(run.epochs.flatMap((epoch) => Object.keys(epoch.metrics || {})))].slice(0, 6);
  return simpleTable("Epochs", [
    { head: "epoch", of: (epoch) => epoch.epoch },
    { head: "time", of: (epoch) => orMissing(epoch.time_s, duration, "its end is missing") },
    { head: "energy", of: joules },
    { head: "samples", of: (epoch) => orMissing(epoch.samples, (v) => v.toLocaleString("en"), "the run did not count them") },
    ...metrics.map((metric) => ({ head: metric, of: (epoch) => orMissing((epoch.metrics || {})[metric], (v) => digits(v, 4), "not reported for this epoch") })),
  ], run.epochs.slice(-200).reverse());
}

const phases = (run) => (has(run.phases) ? simpleTable("Phases", [
  { head: "phase", t: true, of: (phase) => phase.phase },
  { head: "scope", t: true, of: (phase) => phase.scope || "" },
  { head: "times", of: (phase) => phase.spans },
  { head: "time", of: (phase) => orMissing(phase.time_s, duration, phase.why || "not measured") },
  { head: "energy", of: joules },
], run.phases.slice(0, 200)) : null);

function energies(run) {
  const rows = (run.energies || []).filter((one) => one.epoch === null || one.epoch === undefined);
  return rows.length ? simpleTable("Energy by device", [
    { head: "device", t: true, of: (one) => one.device || "host" },
    { head: "scope", t: true, of: (one) => one.scope },
    { head: "method", t: true, of: (one) => one.method },
    { head: "energy", of: joules },
    { head: "mean power", of: (one) => orMissing(one.mean_power_w, (v) => amount(v, "W"), one.why || "not measured") },
    { head: "counted", t: true, of: (one) => (one.counted ? "yes" : "no") },
  ], rows.slice(0, 200)) : null;
}

const caps = (run) => (has(run.caps) ? simpleTable("Caps", [
  { head: "device", t: true, of: (cap) => cap.name || cap.device },
  { head: "cap", t: true, of: (cap) => settingName(cap.kind) },
  { head: "requested", of: (cap) => orMissing(cap.requested, digits, "none") },
  { head: "found", of: (cap) => orMissing(cap.found, digits, "not read") },
  { head: "enforced", of: (cap) => orMissing(cap.enforced, digits, "not read") },
  { head: "achieved", of: (cap) => orMissing(cap.achieved, digits, "not seen") },
], run.caps.slice(0, 200)) : null);

const notes = (run) => (has(run.notes) ? el("section", {}, el("h3", {}, "Notes"), el("ul", { class: "findings" }, run.notes.slice(0, 100).map((note) => el("li", {}, `${note.level}, ${note.area}: ${note.message}`)))) : null);

function warnings(run) {
  return [run.error && el("p", { class: "notice" }, run.error), run.flag && el("p", { class: "notice" }, `Flagged, and not used: ${run.flag}`),
    run.load && run.load.busy && el("p", { class: "notice" }, `Busy machine: ${run.load.busy}`)];
}

const log = (run) => (run.log_tail ? el("section", {}, el("h3", {}, "End of its log"), el("pre", { class: "log", tabindex: "0", "aria-label": "end of its log" }, run.log_tail)) : null);

function links(id, run) {
  const [store, number] = id.split("-");
  const pick = el("button", { type: "button", "data-key": "compare", onclick: () => { location.hash = chooseRun(id); } }, "compare with another run");
  return el("p", { class: "links" }, pick, " ", runButton(id, run.state || run.status, run.alive), " ", el("a", { href: downloadUrl(store, "samples.csv", { run: number }), download: `run-${number}-samples.csv`, "data-key": "samples" }, "samples.csv"));
}

export function runView(context, [id]) {
  const title = el("h2", {}, `Run ${id}`), head = el("div", {}), foot = el("div", {}), empty = el("p", { class: "empty", hidden: true }, "No readings are stored for this run.");
  const live = liveRun(id, {
    most: Infinity, points: 600,
    onRun(run) {
      fill(title, `Run ${id}: `, name(run.words || "no settings"), " ", badge(run));
      fill(head, warnings(run), facts(run), run.command ? el("p", { class: "command" }, el("code", {}, run.command)) : null, links(id, run));
      empty.hidden = has(run.series);
      fill(foot, log(run), epochs(run), phases(run), energies(run), caps(run), notes(run));
    },
    onError(why) {
      if (why.status === 404) fill(head, el("p", { class: "empty" }, `There is no run ${id} in these stores. `, el("a", { href: "#/runs" }, "All runs")));
      else context.fail(why);
    },
  });
  return {
    title: `Run ${id}`,
    element: el("article", { "data-run": id }, title, head, empty, live.element, foot),
    load: live.load,
    event(what, data) { if (data && data.id === id) live.event(what, data); },
    again: live.load,
    close: live.close,
  };
}
