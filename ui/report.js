/* Draws the figures of report.html. Each figure is data (wl_figure_json in src/report/figure/json.c); this file hands
 * it to Chart.js and adds what Chart.js lacks: bands, bars on a number axis, error bars, vertical lines, and legend
 * entries that hide a whole group. */
"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = [];
  let problems = 0;

  addEventListener("error", (event) => {
    problems++;
    root.dataset.error = `${problems}: ${event.message}`;
  });

  /* The order of src/report/figure/gnuplot.c: disc, square, triangle, diamond, triangle down, cross, star. */
  const markers = [
    { pointStyle: "circle", radius: 4.5 },
    { pointStyle: "rect", radius: 5 },
    { pointStyle: "triangle", radius: 5.5 },
    { pointStyle: "rectRot", radius: 5.5 },
    { pointStyle: "triangle", radius: 5.5, rotation: 180 },
    { pointStyle: "crossRot", radius: 5.5 },
    { pointStyle: "star", radius: 5.5 },
  ];

  /* The line styles of src/report/figure/gnuplot.c. */
  const dashes = [[], [7, 5], [2, 3], [10, 4, 2, 4], [14, 5], [6, 3, 2, 3, 2, 3]];

  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : systemDark.matches);
  const cssColour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const seriesColour = (series) => (isDark() ? series.dark : series.light);

  function withAlpha(hex, alpha) {
    const part = (at) => parseInt(hex.slice(at, at + 2), 16);
    return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${alpha})`;
  }

  const digits = (v) => (v === null || v === undefined ? "missing" : String(Number(v.toPrecision(4))));
  const withUnit = (v, axis) => digits(v) + (axis.unit ? ` ${axis.unit}` : "");

  /* ---- one series ---- */

  function datasetOf(series, colour) {
    const y = series.y || series.x.map(() => null);
    const set = {
      type: "line",
      label: series.label || "",
      series,
      data: series.x.map((x, i) => ({ x, y: y[i] })),
      borderColor: colour,
      backgroundColor: colour,
      spanGaps: false,
      borderJoinStyle: "round",
    };
    if (series.style === "line") {
      return Object.assign(set, {
        borderWidth: 2, borderDash: dashes[series.dash], pointStyle: "line", radius: 0, hoverRadius: 3, order: 2,
      });
    }
    if (series.style === "points") {
      const marker = markers[series.marker];
      return Object.assign(set, {
        showLine: false, pointBackgroundColor: withAlpha(colour, 0.75), hoverRadius: 8, order: 1,
        borderWidth: ["crossRot", "star"].includes(marker.pointStyle) ? 2 : 1, ...marker,
      });
    }
    /* Bands and bars are drawn below; their data set carries the legend entry and, for bars, the place to point at. */
    return Object.assign(set, {
      showLine: false, radius: 0, hoverRadius: 0, hitRadius: series.style === "bars" ? 25 : 0, pointStyle: "rect", order: 3,
    });
  }

  /* ---- drawn around the data sets of Chart.js ---- */

  function drawBand(context, xAxis, yAxis, series) {
    const ok = (i) => series.x[i] !== null && series.lo[i] !== null && series.hi[i] !== null;
    for (let from = 0; from < series.x.length; from++) {
      if (!ok(from)) continue;
      let to = from;
      while (to + 1 < series.x.length && ok(to + 1)) to++;
      context.beginPath();
      for (let i = from; i <= to; i++) context.lineTo(xAxis.getPixelForValue(series.x[i]), yAxis.getPixelForValue(series.hi[i]));
      for (let i = to; i >= from; i--) context.lineTo(xAxis.getPixelForValue(series.x[i]), yAxis.getPixelForValue(series.lo[i]));
      context.fill();
      from = to;
    }
  }

  function drawBars(context, xAxis, yAxis, series) {
    const zero = yAxis.getPixelForValue(0);
    series.x.forEach((x, i) => {
      if (x === null || series.y[i] === null) return;
      const left = xAxis.getPixelForValue(x - series.width / 2);
      const right = xAxis.getPixelForValue(x + series.width / 2);
      context.fillRect(left, yAxis.getPixelForValue(series.y[i]), right - left, zero - yAxis.getPixelForValue(series.y[i]));
    });
  }

  function drawErrors(context, xAxis, yAxis, series) {
    series.x.forEach((x, i) => {
      if (x === null || series.lo[i] === null || series.hi[i] === null || series.y[i] === null) return;
      const at = xAxis.getPixelForValue(x);
      context.beginPath();
      for (const end of [series.lo[i], series.hi[i]]) {
        const y = yAxis.getPixelForValue(end);
        context.moveTo(at - 4, y);
        context.lineTo(at + 4, y);
      }
      context.moveTo(at, yAxis.getPixelForValue(series.lo[i]));
      context.lineTo(at, yAxis.getPixelForValue(series.hi[i]));
      context.stroke();
    });
  }

  function drawLines(context, chart, vlines) {
    const area = chart.chartArea;
    context.strokeStyle = context.fillStyle = cssColour("--muted");
    context.lineWidth = 1;
    context.setLineDash([2, 3]);
    context.font = `11px ${Chart.defaults.font.family}`;
    context.textBaseline = "top";
    for (const line of vlines) {
      const x = chart.scales.x.getPixelForValue(line.x);
      if (x < area.left - 1 || x > area.right + 1) continue;
      context.beginPath();
      context.moveTo(x, area.top);
      context.lineTo(x, area.bottom);
      context.stroke();
      if (line.label) context.fillText(line.label, x + 4, area.top + 2);
    }
  }

  function clipped(chart, draw) {
    const { ctx, chartArea } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(chartArea.left - 1, chartArea.top - 1, chartArea.width + 2, chartArea.height + 2);
    ctx.clip();
    draw(ctx);
    ctx.restore();
  }

  function eachVisible(chart, fn) {
    chart.data.datasets.forEach((set, i) => {
      if (chart.isDatasetVisible(i)) fn(set.series, seriesColour(set.series));
    });
  }

  const extras = {
    id: "extras",
    beforeDatasetsDraw(chart) {
      clipped(chart, (context) => {
        drawLines(context, chart, chart.figure.vlines);
        context.setLineDash([]);
        eachVisible(chart, (series, colour) => {
          context.fillStyle = withAlpha(colour, series.style === "band" ? 0.18 : 0.85);
          if (series.style === "band") drawBand(context, chart.scales.x, chart.scales.y, series);
          if (series.style === "bars") drawBars(context, chart.scales.x, chart.scales.y, series);
        });
      });
    },
    afterDatasetsDraw(chart) {
      clipped(chart, (context) => {
        eachVisible(chart, (series, colour) => {
          if (!series.y || !series.lo || !series.hi) return;
          context.strokeStyle = series.style === "bars" ? cssColour("--text") : colour;
          context.lineWidth = 1.5;
          drawErrors(context, chart.scales.x, chart.scales.y, series);
        });
      });
    },
  };

  /* ---- axes, legend, texts ---- */

  /* 1, 2 or 5 times a power of ten. */
  const isRound = (value) => [1, 2, 5].includes(Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(6)));

  function scaleOf(axis) {
    const names = new Map(axis.ticks.map((tick) => [tick.value, tick.name]));
    const limits = axis.chosen && !axis.log ? { bounds: "ticks", suggestedMin: axis.min, suggestedMax: axis.max }
      : { bounds: "data", min: axis.min, max: axis.max };
    return {
      type: axis.log ? "logarithmic" : "linear",
      ...limits,
      title: { display: true, text: axis.title, color: cssColour("--text") },
      grid: { color: cssColour("--grid"), borderColor: cssColour("--muted") },
      ticks: { color: cssColour("--text"), maxRotation: 0, autoSkipPadding: 10,
        callback: (value) => names.get(value) ?? (axis.chosen && (!axis.log || isRound(value)) ? digits(value) : "") },
      afterBuildTicks: (scale) => {
        if (!axis.chosen) scale.ticks = axis.ticks.map((tick) => ({ value: tick.value }));
      },
    };
  }

  function legendItems(chart) {
    const items = Chart.defaults.plugins.legend.labels.generateLabels(chart);
    return items.filter((item) => {
      const { series } = chart.data.datasets[item.datasetIndex];
      if (series.style === "line") Object.assign(item, { lineWidth: 2, lineDash: dashes[series.dash].map((n) => n / 2) });
      return series.label !== null;
    });
  }

  function toggleGroup(event, item, legend) {
    const chart = legend.chart;
    const group = chart.data.datasets[item.datasetIndex].series.group;
    const show = !chart.isDatasetVisible(item.datasetIndex);
    chart.data.datasets.forEach((set, i) => {
      if (set.series.group === group) chart.setDatasetVisibility(i, show);
    });
    chart.update();
  }

  function tooltipText(item) {
    const { figure } = item.chart;
    const { series } = item.dataset;
    const i = item.dataIndex;
    const owner = figure.series[series.group];
    const lines = [`${owner.label ? `${owner.label}: ` : ""}${withUnit(series.y[i], figure.y)}`];
    if (series.lo && series.hi) lines.push(`${withUnit(series.lo[i], figure.y)} to ${withUnit(series.hi[i], figure.y)}`);
    if (series.notes && series.notes[i]) lines.push(series.notes[i]);
    return lines;
  }

  function tooltipTitle(items) {
    if (items.length === 0) return "";
    const { figure } = items[0].chart;
    const x = items[0].parsed.x;
    const tick = figure.x.ticks.find((t) => t.value === x);
    return tick && tick.name !== digits(x) ? tick.name : `${figure.x.title}: ${digits(x)}`;
  }

  function optionsOf(figure) {
    return {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      layout: { padding: { top: 6, right: 12 } },
      interaction: { mode: "nearest", intersect: false },
      scales: { x: scaleOf(figure.x), y: scaleOf(figure.y) },
      plugins: {
        legend: {
          display: figure.series.some((series) => series.label),
          position: "bottom",
          onClick: toggleGroup,
          labels: { color: cssColour("--text"), usePointStyle: true, boxHeight: 10, padding: 14, generateLabels: legendItems },
        },
        tooltip: { callbacks: { title: tooltipTitle, label: tooltipText } },
      },
    };
  }

  /* ---- what a reader chooses in a figure: worker counts, the level that is 1 ---- */

  /* The place of a series among those chosen, or -1; places have the colours, markers and bars of those that the figure
   * came with. */
  function rankOf(figure, series) {
    if (!series.option) return 0;
    let rank = 0;
    for (const [k, choice] of figure.choices.entries()) {
      if (series.option[k] < 0) continue;
      const at = choice.chosen.indexOf(series.option[k]);
      if (at < 0) return -1;
      if (k === 0) rank = at;
    }
    return rank;
  }

  const kindOf = (series) => series.label.split(",")[0];

  function placed(figure, series) {
    const rank = rankOf(figure, series);
    if (!series.option || rank === series.rank) return series;
    const bars = series.style === "bars";
    const model = figure.series.find((other) => other.option && other.rank === rank && (!bars || kindOf(other) === kindOf(series)));
    return model ? { ...series, x: bars ? model.x : series.x, light: model.light, dark: model.dark, marker: model.marker } : series;
  }

  /* A series of a figure of ratios over the base that was chosen. */
  function rebased(figure, series) {
    const { over } = figure;
    if (!over || (over.group < 0 && over.workers === 0)) return series;
    const own = figure.series[series.group];
    const base = over.group < 0 ? own : figure.series[over.group];
    if (!own.means) { /* a line for reference */
      const from = over.workers || (over.group < 0 ? 0 : base.x[0]);
      return figure.base.below && from ? { ...series, y: series.x.map((x) => x / from) } : series;
    }
    const at = over.workers ? base.x.indexOf(over.workers) : 0;
    const mean = ({ means }, i) => ({ ln: means.ln[i], variance: means.variance[i], runs: means.runs[i] });
    const ratios = series.x.map((x, i) => {
      if (at < 0) return { y: null, lo: null, hi: null };
      const one = own === base && i === at;
      const pair = figure.base.below ? ratioOf(mean(base, at), mean(own, i)) : ratioOf(mean(own, i), mean(base, at));
      return one ? { y: pair.y, lo: null, hi: null } : pair;
    });
    const column = (name) => ratios.map((r) => r[name]);
    return { ...series, y: column("y"), lo: series.lo && column("lo"), hi: series.hi && column("hi") };
  }

  function datasetsOf(figure) {
    const shown = figure.series.filter((series) => rankOf(figure, series) >= 0)
      .map((series) => rebased(figure, placed(figure, series)));
    return shown.map((series) => datasetOf(series, seriesColour(series)));
  }

  /* An axis that was made for other series grows to the values of these. */
  function makeRoom(axis, datasets) {
    const values = datasets.flatMap(({ series }) => [...(series.y || []), ...(series.lo || []), ...(series.hi || [])])
      .filter((v) => v !== null);
    if (values.length === 0) return;
    axis.chosen = true;
    axis.max = 1.06 * Math.max(...values);
    if (axis.min > 0) axis.min = Math.min(...values) / 1.06;
  }

  /* The figure after a choice. */
  function rechoose(figure) {
    const datasets = datasetsOf(figure);
    makeRoom(figure.y, datasets);
    const chart = charts.find((one) => one.figure === figure);
    if (!chart) return; /* it is drawn with the choice */
    chart.data.datasets = datasets;
    chart.options = optionsOf(figure);
    chart.update();
  }

  function selector(line, name, options, value, act) {
    const select = document.createElement("select");
    for (const [key, text] of options) select.add(new Option(text, key));
    select.value = value;
    select.setAttribute("aria-label", name);
    select.addEventListener("change", () => act(Number(select.value)));
    line.append(select, " ");
  }

  function chooseOptions(line, figure) {
    for (const choice of figure.choices || []) {
      choice.chosen = [...choice.shown];
      if (choice.options.length < 2) continue;
      line.append(`${choice.name} `);
      choice.shown.forEach((first, at) => {
        selector(line, `${choice.name} ${at + 1}`, choice.options.map((option, i) => [i, option]), first, (picked) => {
          choice.chosen[at] = picked;
          if (choice.name === "1 is") figure.y.title = `ratio to ${choice.options[choice.chosen[0]]}`;
          rechoose(figure);
        });
      });
    }
  }

  function chooseBase(line, figure) {
    if (!figure.base) return;
    const groups = figure.series.flatMap((series, i) => (series.means ? [[i, series.label]] : []));
    const counts = [...new Set(groups.flatMap(([i]) => figure.series[i].x))].sort((a, b) => a - b);
    const title = figure.y.title;
    figure.over = { group: -1, workers: 0 };
    const act = (change) => {
      const { over, base } = figure;
      Object.assign(over, change);
      const count = `${over.workers} ${over.workers === 1 ? "worker" : "workers"}`;
      figure.y.title = over.group >= 0 ? `${base.name} over the base above` : over.workers ? `${base.name} over ${count}` : title;
      rechoose(figure);
    };
    line.append("1 is ");
    if (figure.base.groups && groups.length > 1)
      selector(line, "group that is 1", [[-1, "each group"], ...groups], -1, (group) => act({ group }));
    line.append("at ");
    selector(line, "worker count that is 1", [[0, "the fewest"], ...counts.map((n) => [n, n])], 0, (workers) => act({ workers }));
    line.append("workers");
  }

  function choose(canvas, figure) {
    const line = document.createElement("p");
    line.className = "choices";
    chooseOptions(line, figure);
    chooseBase(line, figure);
    if (line.children.length) canvas.parentElement.before(line);
  }

  function draw(canvas, figure) {
    const data = { datasets: datasetsOf(figure) };
    const chart = new Chart(canvas, { type: "line", data, options: optionsOf(figure), plugins: [extras, { beforeInit(c) { c.figure = figure; } }] });
    canvas.dataset.rendered = figure.id;
    charts.push(chart);
  }

  function recolour() {
    for (const chart of charts) {
      chart.data.datasets.forEach((set) => Object.assign(set, datasetOf(set.series, seriesColour(set.series))));
      chart.options = optionsOf(chart.figure);
      chart.update();
    }
  }

  /* ---- which figures and tables are shown: those of a workload and of a factor ---- */

  const figureElements = [...document.querySelectorAll("figure.chart")];
  const pickable = [...figureElements, ...document.querySelectorAll("figure.table[data-workload], figure.table[data-factor]")];
  const picked = { workload: "", factor: "" }; /* "": every one; "together": figures of all workloads */
  const together = "\u0000together";

  const valuesOf = (what) => [...new Set(figureElements.map((f) => f.dataset[what]).filter(Boolean))];

  function isPicked(figure) {
    const { workload, factor } = figure.dataset;
    const ofWorkload = picked.workload === "" || (picked.workload === together ? !workload : workload === picked.workload);
    return ofWorkload && (picked.factor === "" || factor === picked.factor);
  }

  /* Buttons that pick the workloads of the figures that a section does not show. */
  function choicesOf(section, hidden) {
    const names = [...new Set(hidden.map((figure) => figure.dataset.workload || together))];
    return names.flatMap((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name === together ? "all together" : name;
      button.addEventListener("click", () => {
        pick(name);
        section.scrollIntoView();
      });
      return [button, " "];
    });
  }

  const counted = (n, one) => `${n} more ${one}${n === 1 ? "" : "s"}`;

  /* A section says how many there are of other workloads and factors. */
  function showPicked() {
    for (const figure of pickable) figure.hidden = !isPicked(figure);
    pageTables.filter(picked.workload === together ? "" : picked.workload, picked.factor, valuesOf("workload"));
    for (const note of document.querySelectorAll("p.more")) {
      const section = note.closest("section");
      const hidden = pickable.filter((figure) => figure.hidden && section.contains(figure));
      const tables = hidden.filter((figure) => figure.classList.contains("table")).length;
      const figures = hidden.length - tables;
      note.hidden = hidden.length === 0;
      const counts = [figures ? counted(figures, "figure") : [], tables ? counted(tables, "table") : []].flat();
      note.replaceChildren(`${counts.join(", ")}: `, ...choicesOf(section, hidden));
    }
    for (const link of document.querySelectorAll("#contents a")) {
      const target = document.getElementById(link.hash.slice(1));
      link.classList.toggle("elsewhere", Boolean(target && target.hidden));
    }
  }

  function picker(parent, what, name, options) {
    const label = document.createElement("label");
    const select = document.createElement("select");
    label.textContent = `${name} `;
    select.id = `pick-${what}`;
    for (const [value, text] of options) select.add(new Option(text, value));
    select.addEventListener("change", () => {
      picked[what] = select.value;
      showPicked();
    });
    label.append(select);
    parent.append(label);
    return select;
  }

  function pickers() {
    const parent = document.getElementById("pickers");
    const workloads = valuesOf("workload");
    const factors = valuesOf("factor");
    const few = 24; /* figures that can be looked through */
    for (const section of new Set(pickable.map((figure) => figure.closest("section")))) {
      const note = document.createElement("p");
      note.className = "more";
      const grid = section.querySelector(".figures") || section.querySelector("h2");
      grid.after(note);
    }
    if (workloads.length > 1) {
      const select = picker(parent, "workload", "workload",
        [[together, "all together"], ["", "every one"], ...workloads.map((name) => [name, name])]);
      select.value = picked.workload = figureElements.length > few ? together : "";
    }
    if (factors.length > 1) picker(parent, "factor", "factor", [["", "all"], ...factors.map((name) => [name, name])]);
    parent.hidden = parent.children.length === 0;
    showPicked();
  }

  /* Figures of a workload, of all factors. */
  function pick(workload) {
    Object.assign(picked, { workload, factor: "" });
    for (const what of ["workload", "factor"]) {
      const select = document.getElementById(`pick-${what}`);
      if (select) select.value = picked[what];
      else picked[what] = "";
    }
    showPicked();
  }

  /* A link to a figure that is not shown shows those of its workload. */
  function reveal(id) {
    const figure = document.getElementById(id);
    if (figure && figure.hidden) pick(figure.dataset.workload || together);
  }

  function contents() {
    const list = document.getElementById("contents");
    const search = document.getElementById("search");
    const entries = [...list.querySelectorAll("li li")];
    list.open = matchMedia("(min-width: 1200px)").matches;
    search.hidden = false;
    search.addEventListener("input", () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const entry of entries) {
        const text = entry.textContent.toLowerCase();
        entry.hidden = !words.every((word) => text.includes(word));
      }
      for (const section of list.querySelectorAll("li:has(ul)"))
        section.hidden = words.length > 0 && !section.querySelector("li:not([hidden])");
    });
    list.addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (link) reveal(link.hash.slice(1));
    });
    if (location.hash) reveal(location.hash.slice(1));
  }

  /* A figure is drawn when it comes near the window. */
  let pending = new Set();

  function drawOnce(canvas) {
    if (!pending.delete(canvas)) return;
    draw(canvas, byId.get(canvas.dataset.figure));
    report();
  }

  function watch() {
    pending = new Set(document.querySelectorAll("canvas[data-figure]"));
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        drawOnce(entry.target);
      }
    }, { rootMargin: "600px" });
    const inView = (canvas) => !canvas.closest("figure").hidden && canvas.getBoundingClientRect().top < innerHeight;
    for (const canvas of [...pending]) {
      if (inView(canvas)) drawOnce(canvas); /* at once: observers report later */
      else near.observe(canvas);
    }
  }

  const drawShown = () => [...pending].filter((canvas) => !canvas.closest("figure").hidden).forEach(drawOnce);

  function report() {
    root.dataset.rendered = `${charts.length} of ${figures.length}`;
  }

  /* ---- page ---- */

  Chart.defaults.font.family = 'system-ui, "Helvetica Neue", Arial, sans-serif';
  Chart.defaults.font.size = 13;
  Chart.defaults.devicePixelRatio = Math.max(2, devicePixelRatio);

  const byId = new Map(figures.map((figure) => [figure.id, figure]));
  pageTables.sortable();
  for (const canvas of document.querySelectorAll("canvas[data-figure]")) {
    const figure = byId.get(canvas.dataset.figure);
    choose(canvas, figure);
  }
  pickers();
  contents();
  watch();

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    recolour();
  });
  systemDark.addEventListener("change", recolour);

  /* Paper is light, whatever the screen is, and the charts take the size that report.css gives them there. */
  const paper = { width: 620, height: 335 };
  let screenTheme;
  addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme;
    root.dataset.theme = "light";
    drawShown();
    recolour();
    charts.forEach((chart) => chart.resize(paper.width, paper.height));
  });
  addEventListener("afterprint", () => {
    if (screenTheme) root.dataset.theme = screenTheme;
    else delete root.dataset.theme;
    recolour();
    charts.forEach((chart) => chart.resize());
  });

  report();
})();
