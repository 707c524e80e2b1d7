/* Two runs next to each other; and, where their settings were repeated, the ratio of these settings with its interval. */
import { el, fill, name } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { part } from "./serve_refresh.js";
import { chartsOf, hasReading, nameOf, scaledLine, traceFigure, unitOf } from "./serve_traces.js";
import { simpleTable } from "./serve_table.js";
import { amount, badge, digits, duration, known, missing, orMissing, provenance, settingName } from "./serve_text.js";
import { compareLink, runLink } from "./serve_route.js";
import { stateText } from "./serve_runs.js";

const valueText = (v, unit) => (unit === "s" ? duration(v) : ["J", "W"].includes(unit) ? amount(v, unit) : !unit && Number.isInteger(v) ? v.toLocaleString("en") : `${digits(v, 4)} ${unit || ""}`.trim());

/* ---- settings against settings ---- */

const between = (one) => `${digits(one.ratio_lo)} to ${digits(one.ratio_hi)}`;

function repeatsTable([a, b], repeats) {
  if (repeats.same_settings) return el("p", { class: "source" }, "Both runs have the same settings: they are repeats of each other.");
  if (repeats.measures.length === 0) return el("p", { class: "source" }, "No run with these settings is done.");
  const word = provenance(repeats);
  return [simpleTable("These settings, over all their runs that are done", [
    { head: "measured", t: true, of: (row) => row.label },
    { head: `runs as ${a.id}`, of: (row) => row.runs_a },
    { head: `runs as ${b.id}`, of: (row) => row.runs_b },
    { head: `${b.id} over ${a.id}`, of: (row) => orMissing(row.ratio, digits, "it was not measured with both settings") },
    { head: "95 % interval", of: (row) => (row.no_interval ? missing(row.no_interval) : between(row)) },
    { head: `with the settings of ${b.id}`, t: true, of: (row) => row.change || `no interval: ${row.no_interval}` },
  ], repeats.measures, true), el("p", { class: "source" }, "Ratio of geometric means with Welch's interval: how far the runs scatter", word ? `. Energy and power: ${word}` : "", ". ", el("code", {}, "wattlaw compare"), " compares over all worker counts.")];
}

/* ---- the two runs ---- */

const headOf = (run) => [el("a", { href: runLink(run.id), "data-key": `open ${run.id}` }, `run ${run.id}`), el("br", {}), el("span", { class: "source" }, name(run.words), run.repeat > 1 ? `, repeat ${run.repeat}` : "")];

function valuesTable({ runs: [a, b], values, settings }) {
  const plain = (v) => (v === null || v === undefined ? missing("not set") : String(v)), heads = [`run ${a.id}`, `run ${b.id}`, "ratio", "95 % interval"];
  const row = (label, ...cells) => el("tr", {}, el("th", { scope: "row", class: "t" }, label), cells.map((cell, i) => el("td", { "data-head": heads[i] }, cell)));
  return el("div", { class: "scroll" }, el("table", { class: "compared stacked" }, el("caption", { class: "unseen" }, "Two runs"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "t" }, ""), el("th", { scope: "col" }, headOf(a), " ", badge(a)), el("th", { scope: "col" }, headOf(b), " ", badge(b)), el("th", { scope: "col" }, "ratio"), el("th", { scope: "col" }, "95 % interval of the measurements"))),
    el("tbody", {},
      row("state", stateText(a.state), stateText(b.state), "", ""),
      settings.map((one) => row(settingName(one.name), el("strong", {}, plain(one.a)), el("strong", {}, plain(one.b)), "", "")),
      values.map((one) => row(one.label, orMissing(one.a, (v) => valueText(v, one.unit), "not measured"), orMissing(one.b, (v) => valueText(v, one.unit), "not measured"),
        orMissing(one.ratio, (v) => digits(v), "one of them is missing"), one.no_interval ? missing(one.no_interval) : between(one))))));
}

/* Each reason once, with what it is about. */
function withoutInterval(values) {
  const about = new Map();
  for (const row of values.filter((one) => one.no_interval && known(one.ratio))) about.set(row.no_interval, [...(about.get(row.no_interval) || []), row.label]);
  return [...about].map(([why, labels]) => `No interval of ${labels.join(", ")}: ${why}.`).join(" ");
}

/* Quantities that both runs have, of the first device of each. */
async function overlay(runs, signal) {
  const read = await Promise.all(runs.map((run) => get(`runs/${run.id}`, null, signal)));
  const groups = read.map((run) => chartsOf(run.series || []));
  const shared = groups[0].filter((group) => groups[1].some((other) => other.key === group.key)).slice(0, 3);
  return Promise.all(shared.map(async (group) => {
    const first = [group, groups[1].find((other) => other.key === group.key)].map((one) => one.channels[0]);
    const series = await Promise.all(runs.map((run, i) => get(`runs/${run.id}/series`, { channel: first[i].channel, points: 400 }, signal)));
    const lines = series.map((one, i) => ({ ...scaledLine(one.series[0], unitOf(group.unit).scale), label: `run ${runs[i].id}, ${nameOf(first[i], [first[i]])}` }));
    return { group, lines };
  }));
}

function overlayElement({ group, lines }) {
  const { unit } = unitOf(group.unit), canvas = el("canvas", { role: "img", "aria-label": `${group.label} of both runs over time` });
  const without = lines.filter((line) => !hasReading(line)), isEmpty = without.length === lines.length;
  const element = el("figure", { class: "chart" }, el("figcaption", {}, el("h4", {}, group.label, " ", el("span", { class: "unit" }, unit))),
    el("div", { class: "canvas trace", hidden: isEmpty }, canvas), without.length ? el("p", { class: "source" }, isEmpty ? "No reading in either run." : `No reading: ${without[0].label}.`) : null);
  return { element, draw: () => { if (!isEmpty) pageCharts.show(canvas, traceFigure(group.key, group.label, unit, lines, {})); } };
}

export function compareView(context, [a, b]) {
  const table = el("div", {}), repeats = el("div", {}), charts = el("div", { class: "figures traces" });

  const read = part(async (signal) => {
    const data = await get("compare", { a, b }, signal);
    fill(table, valuesTable(data), el("p", { class: "source" }, `Ratio: the second run over the first. Its interval is that of the two measurements alone; one run against one says nothing of chance. ${withoutInterval(data.values)}`));
    fill(repeats, repeatsTable(data.runs, data.repeats));
    const drawn = (await overlay(data.runs, signal)).map(overlayElement);
    fill(charts, drawn.map((one) => one.element));
    pageCharts.forgetDetached();
    drawn.forEach((one) => one.draw());
  }, (why) => {
    if (why.status === 404 || why.status === 400) fill(table, el("p", { class: "empty" }, `These two runs cannot be compared: ${why.message}. `, el("a", { href: "#/runs" }, "Choose two runs")));
    else context.fail(why);
  });

  return {
    title: `Runs ${a} and ${b}`,
    element: el("section", {}, el("h2", {}, `Run ${b} against run ${a}`), el("p", {}, el("a", { href: compareLink(b, a) }, "the other way round")), table, repeats, charts),
    load: read.now,
    event(what, data) { if (what === "run" && data && [a, b].includes(data.id)) read.touch(); },
    again: read.touch,
    close: read.close,
  };
}
