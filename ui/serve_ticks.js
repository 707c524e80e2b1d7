/* Round numbers on an axis, as src/report/figure/ticks.c has them for the report: [{value, name}] of ui/charts.js. */
const named = (value) => ({ value, name: String(Number(value.toPrecision(10))) });

/* 1, 2 or 5 times a power of ten, about n of them from min to max. */
export function linearTicks(min, max, n) {
  const rough = (max - min) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999));
  const ticks = [];
  for (let k = Math.ceil(min / step - 1e-9); k * step <= max * (1 + 1e-9); k++) ticks.push(named(k * step));
  return ticks;
}

/* Of a logarithmic axis; where it has less than a decade, evenly spaced ones. */
export function logTicks(min, max) {
  if (max / min < 8) return linearTicks(min, max, 5).filter((tick) => tick.value > 0);
  const factors = max / min > 1e4 ? [1] : max / min > 300 ? [1, 3] : [1, 2, 5], ticks = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++)
    for (const factor of factors) ticks.push(named(factor * 10 ** power));
  return ticks.filter((tick) => tick.value >= min && tick.value <= max);
}
