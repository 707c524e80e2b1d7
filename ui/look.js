/* What all parts of report.html share: the count of errors, the theme, colours, markers and numbers as text. */
"use strict";
const look = (() => {
  const root = document.documentElement;
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

  return { markers, dashes, isDark, systemDark, cssColour, seriesColour, withAlpha, digits, withUnit };
})();
