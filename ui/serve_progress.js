/* A campaign: its runs by state as one bar, and what they took. */
import { controlElement } from "./serve_control.js";
import { el } from "./serve_dom.js";
import { amount, badge, counted, digits, duration, known, missingWith, money } from "./serve_text.js";
import { runsLink } from "./serve_route.js";

const states = ["done", "running", "failed", "interrupted", "planned"];

/* The time of day when nothing will be left: "until about 16:40", "until about 2026-12-01 16:40". */
function endOf(left_s) {
  const end = new Date(Date.now() + 1000 * left_s);
  const time = `${String(end.getHours()).padStart(2, "0")}:${String(end.getMinutes()).padStart(2, "0")}`;
  const isToday = end.toDateString() === new Date().toDateString();
  return isToday ? `until about ${time}` : `until about ${end.toISOString().slice(0, 10)} ${time}`;
}

function bar(runs) {
  const shown = states.filter((state) => runs[state] > 0);
  const text = shown.map((state) => `${runs[state]} ${state}`).join(", ");
  return el("div", { class: "bar", role: "img", "aria-label": `${runs.all} runs: ${text}` },
    shown.map((state) => {
      const piece = el("span", { class: `piece ${state}` });
      piece.style.flexGrow = runs[state];
      return piece;
    }));
}

const legend = (store, campaign, runs) => el("ul", { class: "legend" }, states.filter((state) => runs[state] > 0).map((state) =>
  el("li", {}, el("a", { href: runsLink({ store, campaign, state }), "data-key": `legend ${store} ${campaign} ${state}` },
    el("span", { class: `swatch ${state}`, "aria-hidden": "true" }), ` ${runs[state].toLocaleString("en")} ${state}`))));

/* Has every run ended, well or not? */
export const hasEnded = ({ runs }) => runs.running + runs.planned + runs.waiting + runs.in_jobs + runs.to_collect === 0;

function timeLeft(c) {
  if (hasEnded(c)) return c.left > 0 ? `none: every run has ended; the next sweep repeats ${c.left}` : "none: every run has ended";
  if (!known(c.left_s) || (c.left_s === 0 && c.runs.running > 0)) return missingWith("no run like those that are left has ended");
  const range = c.left_range_s && known(c.left_range_s[0]) ? ` (${duration(c.left_range_s[0])} to ${duration(c.left_range_s[1])})` : "";
  return `${duration(c.left_s)}${range}, ${endOf(c.left_s)}`;
}

function energy(used) {
  if (!known(used.energy_j)) return missingWith("no run that has ended has an energy");
  return [amount(used.energy_j, "J"), used.energy_complete ? "" : ", without runs whose energy is not known", " ", badge(used)];
}

const fact = (head, ...value) => el("div", {}, el("dt", {}, head), el("dd", {}, ...value));

function facts(c) {
  const { used } = c;
  return el("dl", { class: "facts" },
    fact("energy so far", energy(used)),
    "cost" in used ? fact("electricity cost so far", known(used.cost) ? money(used.cost, used.currency) : missingWith("energy or price is not known")) : null,
    "carbon_g" in used ? fact("carbon so far", known(used.carbon_g) ? amount(used.carbon_g, "g CO2e") : missingWith("energy or carbon intensity is not known")) : null,
    fact("time left", timeLeft(c)),
    fact("time of runs that are done", duration(c.time_s)),
    used.gpu_hours > 0 ? fact("GPU-hours", digits(used.gpu_hours)) : fact("core-hours", digits(used.core_hours)));
}

const jobs = (runs) => [[runs.waiting, "waiting in the queue"], [runs.in_jobs, "running in jobs"], [runs.to_collect, "not collected yet"]].filter(([n]) => n > 0)
  .map(([n, what]) => `${n} ${what}`).join(", ");

export function campaignElement(store, c) {
  const inJobs = c.has_queue ? jobs(c.runs) : "";
  return el("article", { class: "campaign" },
    el("h3", {}, c.campaign, el("span", { class: "unit" }, ` ${counted(c.runs.all, "run")}`), " ", badge(c.used)),
    c.runs.all ? [bar(c.runs), legend(store, c.campaign, c.runs)] : el("p", { class: "empty" }, "No run yet."),
    inJobs ? el("p", { class: "source" }, `Of the planned runs: ${inJobs}.`) : null,
    c.runs.flagged ? el("p", { class: "source" }, `${counted(c.runs.flagged, "run")} of these ${c.runs.flagged === 1 ? "is" : "are"} flagged and not used.`) : null,
    controlElement(store, c), facts(c));
}
