/* Draws the figures of the report and of the dashboard. Each figure is data (wl_figure_json in src/report/figure/json.c);
 * this file hands it to Chart.js, with legend entries that hide a whole group. */
"use strict";
const pageCharts = (() => {
  const { markers, dashes, cssColour, seriesColour, withAlpha, digits, withUnit } = look;
  const charts = [];

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
      const alone = (i) => y[i] !== null && (y[i - 1] ?? null) === null && (y[i + 1] ?? null) === null; /* a line has no place for it */
      return Object.assign(set, {
        borderWidth: 2, borderDash: dashes[series.dash], pointStyle: "line", radius: y.map((v, i) => (alone(i) ? 4 : 0)), hoverRadius: 3, order: 2,
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

  /* ---- charts ---- */

  const datasetsOf = (figure) => figureChoices.shownSeries(figure).map((series) => datasetOf(series, seriesColour(series)));

  function draw(canvas, figure) {
    const data = { datasets: datasetsOf(figure) };
    const plugins = [chartMarks, { beforeInit(chart) { chart.figure = figure; } }];
    const chart = new Chart(canvas, { type: "line", data, options: optionsOf(figure), plugins });
    canvas.dataset.rendered = figure.id;
    charts.push(chart);
  }

  function redraw(figure) {
    const chart = charts.find((one) => one.figure === figure);
    if (!chart) return; /* it is drawn with the choice */
    chart.data.datasets = datasetsOf(figure);
    chart.options = optionsOf(figure);
    chart.update();
  }

  /* Of the groups that a reader has hidden, the labels. */
  const hiddenLabels = (chart) => new Set(chart.data.datasets.flatMap((set, i) => (set.label && !chart.isDatasetVisible(i) ? [set.label] : [])));

  /* Another state of the figure that a canvas shows: drawn over it, or anew. */
  function show(canvas, figure) {
    const chart = charts.find((one) => one.canvas === canvas);
    if (!chart) return draw(canvas, figure);
    const hidden = hiddenLabels(chart);
    chart.figure = figure;
    chart.data.datasets = datasetsOf(figure);
    chart.options = optionsOf(figure);
    chart.update();
    if (hidden.size === 0) return;
    chart.data.datasets.forEach((set, i) => chart.setDatasetVisibility(i, !hidden.has(figure.series[set.series.group].label)));
    chart.update();
  }

  /* What has left the page is drawn no more. */
  function forgetDetached() {
    for (const chart of charts.filter((one) => !one.canvas.isConnected)) {
      charts.splice(charts.indexOf(chart), 1);
      chart.destroy();
    }
  }

  function recolour() {
    for (const chart of charts) {
      chart.data.datasets.forEach((set) => Object.assign(set, datasetOf(set.series, seriesColour(set.series))));
      chart.options = optionsOf(chart.figure);
      chart.update();
    }
  }

  Chart.defaults.font.family = 'system-ui, "Helvetica Neue", Arial, sans-serif';
  Chart.defaults.font.size = 13;
  Chart.defaults.devicePixelRatio = Math.max(2, devicePixelRatio);

  return {
    draw, redraw, recolour, show, forgetDetached,
    count: () => charts.length,
    resize: (...size) => charts.forEach((chart) => chart.resize(...size)),
  };
})();
