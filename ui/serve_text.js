/* Numbers as texts, as wl_amount_text and the tables of wattlaw write them. */
import { el } from "./serve_dom.js";

export const known = (v) => v !== null && v !== undefined && Number.isFinite(v);

/* Three significant digits, without an exponent below ten million. */
export function digits(v, places = 3) {
  if (!known(v)) return "unknown";
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return v.toExponential(places - 1);
  return size >= 10 ** (places - 1) ? String(Math.round(v)) : v.toPrecision(places);
}

/* From the largest down; joules, watts and grams go up to these. */
const steps = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];

/* "716 J", "35.0 kJ", "2.10 kg CO2e" */
export function amount(v, unit) {
  if (!known(v)) return "unknown";
  const [factor, prefix] = v === 0 ? [1, ""] : steps.find(([least]) => Math.abs(v) >= least * 0.9995) || steps[steps.length - 1];
  return `${digits(v / factor)} ${prefix}${unit}`;
}

/* "15.1 kJ (15.0 to 15.2 kJ)", with the interval where it is known. */
export function amountBetween(v, lo, hi, unit) {
  if (!known(lo) || !known(hi)) return amount(v, unit);
  const [low, high] = [amount(lo, unit), amount(hi, unit)];
  const same = low.split(" ")[1] === high.split(" ")[1];
  return `${amount(v, unit)} (${same ? low.split(" ")[0] : low} to ${high})`;
}

/* "61.2 s", "12 min 3 s", "2 h 14 min", "3 d 4 h" */
export function duration(s) {
  if (!known(s)) return "unknown";
  if (s < 99.95) return `${digits(s)} s`;
  const whole = Math.round(s);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(s / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export const percent = (v) => (known(v) ? `${digits(Math.abs(v) < 9.95 ? Number(v.toPrecision(2)) : v, Math.abs(v) < 9.95 ? 2 : 3)} %` : "unknown");

/* "3.20 EUR", "12.0 µEUR" */
export const money = (v, currency) => (known(v) && (v >= 0.1 || v === 0) ? `${v.toFixed(2)} ${currency}` : amount(v, currency));

/* "2026-11-28 16:00:05", of the reader's clock. */
export function clock(ms) {
  if (!known(ms)) return "unknown";
  const date = new Date(ms), two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/* What is known of where a number comes from: no word, "estimated", "simulated", or both. */
export const provenance = (from) => [from.estimated && "estimated", from.simulated && "simulated"].filter(Boolean).join(", ");

export function badge(from) {
  const word = provenance(from);
  return word ? el("span", { class: "badge" }, word) : null;
}

/* A value that is not known: a dash, with the reason for those who point at it and for those who hear it. */
export const missing = (why) => el("span", { class: "missing", title: why }, el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, `missing: ${why}`));

/* The same where there is room for the reason. */
export const missingWith = (why) => el("span", { class: "muted" }, `missing: ${why}`);

/* text(v) of a value that is known. */
export const orMissing = (v, text, why) => (known(v) ? text(v) : missing(why));

/* "power cap (W)" of power_cap_w */
export const settingName = (key) => key.replace(/_w$/, " (W)").replace(/_mhz$/, " (MHz)").replaceAll("_", " ");
