/* The scaling laws of what is measured so far: points with their intervals, the curve with its band, the band as it was when the
 * page was opened, and how its width has changed with the runs that were done. */
import { el, fill, name } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { part } from "./serve_refresh.js";
import { colourAt, neutralColour } from "./serve_traces.js";
import { linearTicks, logTicks } from "./serve_ticks.js";
import { amount, badge, counted, digits, known, provenance } from "./serve_text.js";

const keyOf = (law) => `${law.store} ${law.group} ${law.measure}`;
const first = new Map(); /* the laws when the page was opened, by name */

const column = (list, key) => list.map((one) => (known(one[key]) ? one[key] : null));
const exponent = ({ beta, beta_lo, beta_hi }) => `beta ${known(beta) ? beta.toFixed(3) : "unknown"}${known(beta_lo) && known(beta_hi) ? ` (${beta_lo.toFixed(3)} to ${beta_hi.toFixed(3)})` : ""}`;
const alpha = (law) => `alpha ${["s", "J"].includes(law.unit) ? amount(law.law.alpha, law.unit) : digits(law.law.alpha)}`;

const bandWidth = (law) => (law.band ? law.band.width_pct : null);
const hasChanged = (now, then) => known(now) && known(then) && Math.abs(then - now) > 1e-3 * now;
const plusMinus = (width) => (width > 100 ? `wider than the value itself (±${digits(width, 2)} %)` : `±${digits(width, 2)} %`);

function narrowing({ band, runs }) {
  if (!band) return null;
  const early = band.history[0];
  const then = early && early.runs < runs ? `; it was ${plusMinus(early.width_pct)} with the first ${counted(early.runs, "run")}` : "";
  const cut = band.history_cut ? " What it was before that was not computed: it takes too long." : "";
  return `Band at ${counted(band.workers, "worker")}: ${plusMinus(band.width_pct)} with ${counted(runs, "run")}${then}.${cut}`;
}

/* Half the width of the band by the runs done; it needs two widths. */
function widthFigure(law) {
  const history = law.band ? law.band.history.filter((one) => one.width_pct > 0) : [];
  if (history.length < 2) return null;
  const widths = column(history, "width_pct"), runs = column(history, "runs");
  const y = { min: Math.min(...widths) / 1.5, max: Math.max(...widths) * 1.5 }, x = { min: 0, max: runs[runs.length - 1] * 1.03 };
  const line = { group: 0, dash: 0, ...colourAt(0), x: runs, y: widths };
  return {
    id: `${keyOf(law)} width`,
    x: { title: "runs done", unit: "", log: false, ...x, ticks: linearTicks(x.min, x.max, 6).filter((tick) => Number.isInteger(tick.value)) },
    y: { title: "half width (%)", unit: "%", log: true, ...y, ticks: logTicks(y.min, y.max) },
    series: [{ ...line, label: null, style: "line", marker: 0 }, { ...line, label: null, style: "points", marker: 0, lo: null, hi: null }], vlines: [],
  };
}

function figureOf(law, before) {
  const series = [];
  const add = (one) => series.push({ group: one.label ? series.length : series.length - 1, marker: 0, dash: 0, ...one });
  const old = hasChanged(bandWidth(law), bandWidth(before)) ? before.curve : null;
  if (law.curve.length > 1) {
    add({ label: "law", style: "line", ...colourAt(0), x: column(law.curve, "workers"), y: column(law.curve, "value") });
    add({ label: null, style: "band", ...colourAt(0), x: column(law.curve, "workers"), lo: column(law.curve, "lo"), hi: column(law.curve, "hi") });
  }
  if (old) {
    add({ label: "band when this page was opened", style: "line", dash: 2, ...neutralColour, x: column(old, "workers"), y: column(old, "lo") });
    add({ label: null, style: "line", dash: 2, ...neutralColour, x: column(old, "workers"), y: column(old, "hi") });
  }
  add({ label: "measured, with 95 % interval", style: "points", ...colourAt(1), marker: 1, x: column(law.points, "workers"), y: column(law.points, "value"),
    lo: column(law.points, "lo"), hi: column(law.points, "hi"), notes: law.points.map((p) => counted(p.runs, "run")) });
  const values = series.flatMap((one) => [...(one.y || []), ...(one.lo || []), ...(one.hi || [])]).filter((v) => v > 0);
  const all = [...law.points, ...law.curve].map((p) => p.workers), x = { min: Math.min(...all) / 1.1, max: Math.max(...all) * 1.1 };
  const y = { min: Math.min(...values) / 1.1, max: Math.max(...values) * 1.1 };
  const counts = [...new Set(law.points.map((p) => p.workers))].sort((a, b) => a - b);
  return {
    id: keyOf(law),
    x: { title: "workers", unit: "", log: true, ...x, ticks: counts.length > 9 ? logTicks(x.min, x.max) : [...counts, Math.max(...all)].map((n) => ({ value: n, name: String(Number(n.toPrecision(4))) })) },
    y: { title: `${law.label} (${law.unit})`, unit: law.unit, log: true, ...y, ticks: logTicks(y.min, y.max) },
    series, vlines: [],
  };
}

function lawElement() {
  const title = el("h3", {}), text = el("p", { class: "caption" }), canvas = el("canvas", { role: "img" }), notes = el("ul", { class: "notes" });
  const box = el("div", { class: "canvas" }, canvas);
  const widthCanvas = el("canvas", { role: "img" }), widths = el("div", { class: "canvas small" }, widthCanvas);
  const widthTitle = el("h4", {}, "Width of the band ", el("span", { class: "muted" }, "half of it, in percent of the curve, at the largest worker count"));
  const element = el("figure", { class: "chart" }, el("figcaption", {}, title), text, box, notes, widthTitle, widths);
  return {
    element,
    show(law) {
      const before = first.get(keyOf(law));
      fill(title, `${law.label} of `, name(law.name), " ", badge(law));
      const formula = law.law ? [law.law.formula, exponent(law.law), alpha(law), counted(law.runs, "run")].join("; ")
        : `no law yet: it needs two worker counts; ${counted(law.runs, "run")}`;
      text.textContent = `${formula}.`;
      fill(notes, [narrowing(law), law.refusal && `No curve: ${law.refusal}.`, ...(law.notes || [])].filter(Boolean).map((note) => el("li", {}, note)));
      box.hidden = law.points.length === 0;
      canvas.setAttribute("aria-label", `${law.label} against workers${provenance(law) ? `, ${provenance(law)}` : ""}. ${law.points.map((p) => `${p.workers}: ${digits(p.value)} ${law.unit}`).join("; ")}`);
      if (!box.hidden) pageCharts.show(canvas, figureOf(law, before));
      const narrowed = widthFigure(law);
      widthTitle.hidden = widths.hidden = !narrowed;
      if (!narrowed) return;
      widthCanvas.setAttribute("aria-label", `Half width of the band at ${counted(law.band.workers, "worker")} by runs done. ${law.band.history.map((one) => `${one.runs}: ${plusMinus(one.width_pct)}`).join("; ")}`);
      pageCharts.show(widthCanvas, narrowed);
    },
  };
}

/* The first `most` laws; all of them with Infinity. */
export function lawList(most, failed) {
  const grid = el("div", { class: "figures" }), state = el("p", { class: "source", role: "status" });
  const element = el("section", { "aria-label": "Laws" }, el("h2", {}, most < Infinity ? "The laws so far" : "Scaling laws of what is measured"), state, grid);
  const shown = new Map();

  const read = part(async (signal) => {
    const data = await get("laws", null, signal);
    const laws = (data.laws || []).sort((p, q) => Boolean(q.law) - Boolean(p.law)); /* what is a law first; the order stays otherwise */
    for (const law of laws) if (!first.has(keyOf(law))) first.set(keyOf(law), law);
    const picked = laws.slice(0, most);
    const stay = new Set(picked.map(keyOf));
    for (const [key, one] of shown) {
      if (stay.has(key)) continue;
      one.element.remove();
      shown.delete(key);
    }
    for (const law of picked) {
      if (!shown.has(keyOf(law))) shown.set(keyOf(law), lawElement());
      const one = shown.get(keyOf(law));
      if (!one.element.isConnected) grid.append(one.element);
      one.show(law);
    }
    pageCharts.forgetDetached();
    const what = laws.length === 0 && data.state === "ready" ? "No law yet: it needs runs that are done at two worker counts." : "";
    const busy = data.state === "computing" ? "Being computed ..." : data.state === "stale" ? "Being computed with the newest runs ..." : "";
    const more = laws.length > picked.length ? [`${picked.length} of `, el("a", { href: "#/laws", "data-key": "laws" }, counted(laws.length, "law")), ". "] : [];
    fill(state, more, what, busy);
  }, failed);

  return { element, touch: read.touch, load: read.now, close: read.close };
}

export function lawsView(context) {
  const list = lawList(Infinity, context.fail);
  return {
    title: "Laws",
    element: list.element,
    load: list.load,
    event(what) { if (what === "laws") list.touch(); },
    again: list.touch,
    close: list.close,
  };
}
