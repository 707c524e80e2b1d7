/* The page of report.html: draws figures as they come into view, and follows theme and paper. */
"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const byId = new Map(figures.map((figure) => [figure.id, figure]));

  /* ---- a figure is drawn when it comes near the window ---- */

  let pending = new Set();

  function drawOnce(canvas) {
    if (!pending.delete(canvas)) return;
    pageCharts.draw(canvas, byId.get(canvas.dataset.figure));
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
    root.dataset.rendered = `${pageCharts.count()} of ${figures.length}`;
  }

  /* ---- the page ---- */

  pageTables.sortable();
  for (const canvas of document.querySelectorAll("canvas[data-figure]"))
    figureChoices.choose(canvas, byId.get(canvas.dataset.figure));
  /* Pointing at a quantity shows how it is computed, as the foot of the page says. */
  for (const link of document.querySelectorAll('a[href^="#metric-"]')) {
    const row = document.getElementById(link.hash.slice(1));
    if (row) link.title = row.querySelector("dd").firstChild.textContent.trim();
  }
  pagePickers.begin();
  watch();

  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = look.isDark() ? "light" : "dark";
    pageCharts.recolour();
  });
  look.systemDark.addEventListener("change", pageCharts.recolour);

  /* Paper is light, whatever the screen is, and the charts take the size that report.css gives them there. */
  const paper = { width: 620, height: 335 };
  let screenTheme;
  addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme;
    root.dataset.theme = "light";
    drawShown();
    pageCharts.recolour();
    pageCharts.resize(paper.width, paper.height);
  });
  addEventListener("afterprint", () => {
    if (screenTheme) root.dataset.theme = screenTheme;
    else delete root.dataset.theme;
    pageCharts.recolour();
    pageCharts.resize();
  });

  report();
})();
