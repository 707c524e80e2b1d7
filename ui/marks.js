/* What Chart.js lacks, drawn around its data sets: bands, bars on a number axis, error bars, vertical lines and spans. */
"use strict";
const chartMarks = (() => {
  const { cssColour, seriesColour, withAlpha } = look;

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

  /* Nearer to each other than this, in pixels, lines would be a grey field: one of them stands for its neighbours. */
  const LINE_GAP = 8, LABEL_GAP = 6;

  function drawLines(context, chart, vlines) {
    const area = chart.chartArea;
    let lastLine = -Infinity, labelEnd = -Infinity;
    context.strokeStyle = context.fillStyle = cssColour("--muted");
    context.lineWidth = 1;
    context.setLineDash([2, 3]);
    context.font = `11px ${Chart.defaults.font.family}`;
    context.textBaseline = "top";
    for (const line of vlines) {
      const x = chart.scales.x.getPixelForValue(line.x);
      if (x < area.left - 1 || x > area.right + 1 || x - lastLine < LINE_GAP) continue;
      lastLine = x;
      context.beginPath();
      context.moveTo(x, area.top);
      context.lineTo(x, area.bottom);
      context.stroke();
      if (!line.label || x < labelEnd + LABEL_GAP) continue;
      context.fillText(line.label, x + 4, area.top + 2);
      labelEnd = x + 4 + context.measureText(line.label).width;
    }
  }

  /* Named stretches of the x axis, [from, to], at the foot of the chart: the phases of a run. Every other one is darker, and a
   * name is written where it has room. */
  function drawSpans(context, chart, spans) {
    const area = chart.chartArea, height = 15;
    context.setLineDash([]);
    context.font = `10px ${Chart.defaults.font.family}`;
    context.textBaseline = "middle";
    spans.forEach((span, i) => {
      const left = Math.max(area.left, chart.scales.x.getPixelForValue(span.from));
      const width = Math.min(area.right, chart.scales.x.getPixelForValue(span.to)) - left;
      if (!(width > 0)) return;
      context.fillStyle = withAlpha(cssColour("--muted"), i % 2 ? 0.32 : 0.16);
      context.fillRect(left, area.bottom - height, width, height);
      context.fillStyle = cssColour("--text");
      if (context.measureText(span.label).width + 8 < width) context.fillText(span.label, left + 4, area.bottom - height / 2);
    });
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

  return {
    id: "marks",
    beforeDatasetsDraw(chart) {
      clipped(chart, (context) => {
        drawLines(context, chart, chart.figure.vlines);
        drawSpans(context, chart, chart.figure.spans || []);
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
})();
