/* What a reader chooses in a figure of report.html: worker counts, the level that is 1, the base of ratios. */
"use strict";
const figureChoices = (() => {
  /* ---- the series after a choice ---- */

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

  /* The series that are drawn, as they are after the choices. */
  const shownSeries = (figure) => figure.series.filter((series) => rankOf(figure, series) >= 0)
    .map((series) => rebased(figure, placed(figure, series)));

  /* An axis that was made for other series grows to the values of these. */
  function makeRoom(axis, shown) {
    const values = shown.flatMap((series) => [...(series.y || []), ...(series.lo || []), ...(series.hi || [])])
      .filter((v) => v !== null);
    if (values.length === 0) return;
    axis.chosen = true;
    axis.max = 1.06 * Math.max(...values);
    if (axis.min > 0) axis.min = Math.min(...values) / 1.06;
  }

  /* The figure after a choice. */
  function rechoose(figure) {
    makeRoom(figure.y, shownSeries(figure));
    pageCharts.redraw(figure);
  }

  /* ---- the lists above a figure ---- */

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

  return { shownSeries, choose };
})();
