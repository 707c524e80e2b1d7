/* A run with its traces, while it runs and afterwards: on the overview with its first charts, on its own view with all. */
import { el, fill } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { part } from "./serve_refresh.js";
import { chartsOf, traceChart } from "./serve_traces.js";
import { duration, known } from "./serve_text.js";

/* "epoch 3 took 19.9 s", of the newest that has ended. */
export function epochText(run) {
  const ended = (run.epochs || []).filter((epoch) => known(epoch.time_s));
  if (ended.length === 0) return run.so_far ? "no epoch has ended yet" : "no epochs";
  const last = ended[ended.length - 1];
  return run.so_far ? `epoch ${last.epoch} took ${duration(last.time_s)}` : `${ended.length} epochs`;
}

/* The time that a running run has taken, until what is recorded. */
export const elapsed = (run) => (known(run.time_s) ? run.time_s : known(run.now_ns) && known(run.start_ns) ? (run.now_ns - run.start_ns) / 1e9 : null);

/* Charts that are not near the window are read when they come there. */
export function liveRun(id, { most, points, onRun, onError }) {
  let run = null, charts = [];
  const near = new Set();
  const element = el("div", { class: "figures traces" });
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.find((one) => one.element === entry.target);
      if (!entry.isIntersecting) near.delete(chart);
      else if (chart && !near.has(chart)) {
        near.add(chart);
        traces.touch();
      }
    }
  }, { rootMargin: "300px" });

  function setCharts(groups) {
    if (groups.map((group) => group.key).join() === charts.map((chart) => chart.group.key).join()) return;
    charts.forEach((chart) => observer.unobserve(chart.element));
    near.clear();
    charts = groups.map((group) => traceChart(group, points));
    fill(element, charts.map((chart) => chart.element));
    pageCharts.forgetDetached();
    charts.forEach((chart) => observer.observe(chart.element));
  }

  const detail = part(async (signal) => {
    const read = await get(`runs/${id}`, null, signal);
    read.id = id;
    run = read;
    setCharts(chartsOf(run.series || []).slice(0, most));
    onRun(run);
    traces.touch(); /* with the new epochs and phases */
  }, onError);

  const traces = part(async (signal) => {
    if (!run) return;
    await Promise.all([...near].map((chart) => chart.update(run, signal)));
  }, onError);

  return {
    id, element,
    load: detail.now,
    event(name, data) {
      if (name === "readings") traces.touch();
      else detail.touch();
      /* An epoch is shown at once, its energy when the run has been read. */
      if (name === "epoch" && run && !run.epochs.some((epoch) => epoch.epoch === data.epoch)) {
        run.epochs.push({ ...data, energy_j: null });
        onRun(run);
      }
    },
    close() {
      observer.disconnect();
      detail.close();
      traces.close();
    },
  };
}

