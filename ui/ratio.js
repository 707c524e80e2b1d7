/* Ratios to a base that a reader chose: of two means of logarithms, with Welch's 95 % interval (Welch 1947; degrees of
 * freedom after Satterthwaite 1946), as wl_law_ratio_estimate (src/law/fit/speedup.c) has those that the page came with. */
"use strict";
const ratioOf = (() => {
  /* Lanczos 1964, g = 5 (coefficients of Press et al., Numerical Recipes, section 6.1); x > 0. */
  function lnGamma(x) {
    const c = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 1.208650973866179e-3, -5.395239384953e-6];
    const sum = c.reduce((s, v, i) => s + v / (x + 1 + i), 1.000000000190015);
    return (x + 0.5) * Math.log(x + 5.5) - (x + 5.5) + Math.log(2.5066282746310005 * sum / x);
  }

  /* The continued fraction of the incomplete beta function (DLMF 8.17.22), from its end. */
  function fraction(x, a, b) {
    let value = 1;
    for (let m = 200; m > 0; m--) {
      const odd = -((a + m - 1) * (a + b + m - 1) * x) / ((a + 2 * m - 2) * (a + 2 * m - 1));
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      value = 1 + odd / (1 + even / value);
    }
    return 1 / value;
  }

  /* Regularized incomplete beta function I_x(a, b). */
  function share(x, a, b) {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(a * Math.log(x) + b * Math.log1p(-x) + lnGamma(a + b) - lnGamma(a) - lnGamma(b));
    return x < (a + 1) / (a + b + 2) ? front * fraction(x, a, b) / a : 1 - front * fraction(1 - x, b, a) / b;
  }

  /* The t that |T| exceeds with probability 0.05; of very many degrees of freedom the normal quantile. */
  function t95(df) {
    if (df > 1e6) return 1.959963984540054;
    let low = 0, high = 1; /* of x = df / (df + t^2) */
    for (let i = 0; i < 100; i++) {
      const x = (low + high) / 2;
      if (share(x, df / 2, 0.5) < 0.05) low = x;
      else high = x;
    }
    return Math.sqrt(df * (1 - low) / low);
  }

  const finite = (v) => v !== null && v !== undefined && Number.isFinite(v);

  /* above / below, each {ln, variance, runs}: {y, lo, hi}, null where it is not known. */
  return (above, below) => {
    const none = { y: null, lo: null, hi: null };
    if (!finite(above.ln) || !finite(below.ln)) return none;
    const ln = above.ln - below.ln;
    if (!finite(above.variance) || !finite(below.variance)) return { ...none, y: Math.exp(ln) };
    const u = above.variance, v = below.variance, se = Math.sqrt(u + v);
    const df = (u + v) ** 2 / (u * u / (above.runs - 1) + v * v / (below.runs - 1));
    const half = se > 0 ? t95(df) * se : 0;
    return { y: Math.exp(ln), lo: Math.exp(ln - half), hi: Math.exp(ln + half) };
  };
})();
