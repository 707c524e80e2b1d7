/* Readings of a run over its time: a chart for each quantity with a line for each device, the envelope of what was reduced as a
 * band, epochs as vertical lines and phases at the foot. */
import { el } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { linearTicks } from "./serve_ticks.js";
import { counted, known } from "./serve_text.js";

/* The palette of src/report/figure/colour.c. */
const palette = [["#0072b2", "#4aa8e0"], ["#d55e00", "#f0804a"], ["#009e73", "#2fc79b"], ["#aa4499", "#dd8fc4"],
  ["#e69f00", "#f2b63c"], ["#56b4e9", "#8fd0f5"], ["#9a8700", "#f0e442"]];
const neutral = ["#666666", "#a8a8a8"];

export const colourAt = (i) => ({ light: palette[i % palette.length][0], dark: palette[i % palette.length][1] });
export const neutralColour = { light: neutral[0], dark: neutral[1] };

const MOST_CHANNELS = 32; /* of one request */

/* First what a reader looks for first. */
const order = ["power_w", "energy_j", "sm_util_pct", "cpu_util_pct", "sm_clock_mhz", "mem_clock_mhz", "temperature_c", "mem_util_pct"];
const rankOf = (quantity) => { const at = order.indexOf(quantity); return at < 0 ? order.length : at; };

/* Quantities in words (src/power/quantity.c has their names); others are named after what they are without the unit. */
const words = {
  sm_util_pct: "GPU utilisation", mem_util_pct: "GPU memory utilisation", cpu_util_pct: "CPU utilisation", process_util_pct: "GPU utilisation by processes",
  sm_clock_mhz: "SM clock", mem_clock_mhz: "memory clock", mem_used_bytes: "memory in use", rss_bytes: "memory of the job", temperature_c: "temperature",
  cpu_time_s: "CPU time per second", runnable: "runnable threads", cpus: "CPUs", other_processes: "other processes", event_reasons: "what determines the clock (bits)",
};
const labelOf = ({ quantity }) => words[quantity] || quantity.replace(/_(w|j|s|c|pct|mhz|bytes)$/, "").replaceAll("_", " ");

/* A device may report its power in several ways: the first of these is shown, samples.csv has all. */
const powers = ["power_w", "power_average_w", "energy_j", "idle_power_w"];

function withoutRepeats(series) {
  const sameDevice = (a, b) => a.unit === "W" && b.unit === "W" && a.host === b.host && a.scope === b.scope && a.number === b.number;
  const place = (channel) => { const at = powers.indexOf(channel.quantity); return at < 0 ? powers.length : at; };
  return series.filter((one) => one.unit !== "W" || !series.some((other) => sameDevice(one, other) && place(other) < place(one)));
}

/* [{key, quantity, label, unit, channels}], each a chart. */
export function chartsOf(series) {
  const groups = new Map();
  for (const channel of withoutRepeats(series)) {
    const key = channel.unit === "W" ? "W" : `${channel.quantity} ${channel.unit}`;
    if (!groups.has(key)) groups.set(key, { key, quantity: channel.quantity, label: channel.unit === "W" ? "power" : labelOf(channel), unit: channel.unit, channels: [] });
    groups.get(key).channels.push(channel);
  }
  return [...groups.values()].sort((a, b) => rankOf(a.quantity) - rankOf(b.quantity));
}

/* "GPU 0", "package 1 on n2, from its energy counter": as short as it is unambiguous among the others. */
export function nameOf(channel, among) {
  const hosts = new Set(among.map((one) => one.host)).size, quantities = new Set(among.map((one) => one.quantity)).size;
  const scope = channel.scope === "gpu" ? "GPU" : channel.scope;
  const alone = among.filter((one) => one.scope === channel.scope && one.quantity === channel.quantity && one.host === channel.host).length === 1;
  return [`${scope || "host"}${alone && channel.scope !== "gpu" ? "" : ` ${channel.number ?? ""}`}`.trim(), hosts > 1 && channel.host ? ` on ${channel.host}` : "",
    quantities > 1 ? `, ${channel.counter ? "from its energy counter" : labelOf(channel)}` : "",
    channel.estimated ? " (estimated)" : "", channel.simulated ? " (simulated)" : ""].join("");
}

/* ---- the figure of ui/charts.js ---- */

const linesOfEpochs = (epochs) => epochs.filter((epoch) => known(epoch.begin_s)).map((epoch) => ({ x: epoch.begin_s, label: `epoch ${epoch.epoch}` }));

const spansOfPhases = (spans) => (spans || []).filter((span) => known(span.begin_s))
  .map((span) => ({ from: span.begin_s, to: span.end_s ?? Infinity, label: span.phase }));

function seriesOf(lines) {
  const drawn = [];
  lines.forEach((line, i) => {
    const look = { ...colourAt(i), marker: i % 7, dash: Math.floor(i / palette.length) % 6, group: drawn.length };
    drawn.push({ ...look, label: lines.length > 1 ? line.label : "", style: "line", x: line.t_s, y: line.mean });
    if (line.reduced) drawn.push({ ...look, label: null, style: "band", x: line.t_s, lo: line.min, hi: line.max });
  });
  return drawn;
}

function extent(lists) {
  let min = Infinity, max = -Infinity;
  for (const list of lists)
    for (const v of list) if (v !== null) { if (v < min) min = v; if (v > max) max = v; }
  return min <= max ? { min, max } : null;
}

/* Amounts from 0, shares up to 100 %; clocks and temperatures around their values. Above them is room for the names of epochs. */
function yAxis(unit, lines) {
  const is = extent(lines.flatMap((line) => [line.min, line.max])) || { min: 0, max: 1 };
  const isAround = ["MHz", "°C"].includes(unit);
  const low = isAround ? is.min : Math.min(0, is.min), high = unit === "%" ? Math.max(100, is.max) : is.max;
  const range = high - low || Math.abs(high) || 1;
  const axis = { min: isAround ? low - 0.05 * range : low, max: high + 0.14 * range };
  return { ...axis, ticks: linearTicks(axis.min, axis.max, 5) };
}

/* lines: [{label, t_s, min, max, mean, reduced}]. */
export function traceFigure(id, title, unit, lines, run) {
  const x = extent([...lines.map((line) => line.t_s), [0]]) || { min: 0, max: 1 };
  if (x.max <= x.min) x.max = x.min + 1;
  return {
    id, title,
    x: { title: "time since the start (s)", unit: "s", log: false, ticks: linearTicks(x.min, x.max, 6), ...x },
    y: { title: unit ? `${title} (${unit})` : title, unit, log: false, ...yAxis(unit, lines) },
    series: seriesOf(lines),
    vlines: linesOfEpochs(run.epochs || []),
    spans: spansOfPhases(run.phase_spans),
  };
}

/* Bytes in gigabytes: an axis has no prefixes. */
export const unitOf = (unit) => (["B", "B/s"].includes(unit) ? { scale: 1e-9, unit: `G${unit}` } : { scale: 1, unit });

export function scaledLine(line, scale) {
  const scaled = (list) => (scale === 1 ? list : list.map((v) => (v === null ? null : v * scale)));
  return { ...line, min: scaled(line.min), max: scaled(line.max), mean: scaled(line.mean) };
}

export const hasReading = (line) => line.mean.some(known);

/* What a chart shows, for those who do not see it. */
function describe(lines, unit) {
  return lines.map((line) => {
    const y = extent([line.min, line.max]);
    return `${line.label}: ${y ? `${look.digits(y.min)} to ${look.digits(y.max)} ${unit}` : "no reading"}`;
  }).join("; ");
}

/* ---- charts on the page ---- */

/* A chart of one group of channels; update(run) reads its channels again and draws them. */
export function traceChart(group, points) {
  const canvas = el("canvas", { role: "img" }), channels = group.channels.slice(0, MOST_CHANNELS);
  const left = group.channels.length - channels.length;
  const { scale, unit } = unitOf(group.unit);
  const note = el("p", { class: "source" });
  const element = el("figure", { class: "chart" }, el("figcaption", {}, el("h4", {}, group.label, " ", el("span", { class: "unit" }, unit, channels.length === 1 ? ` of ${nameOf(channels[0], channels)}` : ""))),
    el("div", { class: "canvas trace" }, canvas), note);

  async function update(run, signal) {
    const data = await get(`runs/${run.id}/series`, { channel: channels.map((c) => c.channel).join(","), points }, signal);
    if (!element.isConnected) return;
    const lines = data.series.map((one) => ({ ...scaledLine(one, scale),
      label: nameOf(channels.find((c) => c.channel === one.channel) || {}, channels) }));
    const failed = lines.reduce((sum, line) => sum + line.failed, 0);
    canvas.setAttribute("aria-label", `${group.label} over time. ${describe(lines, unit)}`);
    note.textContent = [lines.some((line) => line.reduced) && "Line: mean; band: smallest and largest reading.",
      failed && `${counted(failed, "reading")} failed: gaps.`, left > 0 && `${left} more channels are in samples.csv.`].filter(Boolean).join(" ");
    const isEmpty = !lines.some(hasReading);
    canvas.parentElement.hidden = isEmpty;
    element.classList.toggle("without", isEmpty);
    if (isEmpty) note.textContent = run.so_far ? "No reading yet." : "No reading.";
    else pageCharts.show(canvas, traceFigure(group.key, group.label, unit, lines, run));
  }

  return { element, group, update };
}
