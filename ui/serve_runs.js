/* The table of runs: the server sorts, filters and pages; two runs can be chosen to be compared. */
import { el, fill, say } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { part } from "./serve_refresh.js";
import { amount, amountBetween, badge, clock, counted, digits, duration, known, missing, orMissing } from "./serve_text.js";
import { compareLink, runLink, runsLink } from "./serve_route.js";

const PAGE = 50;
const states = ["planned", "running", "done", "failed", "interrupted"];

/* ---- cells ---- */

const whyNone = { planned: "it has not begun", running: "known when it ends", failed: "the run failed", interrupted: "the run was interrupted" };
const why = (run, otherwise) => whyNone[run.state] || otherwise;

function settingsCell(run) {
  const text = run.error || run.flag;
  return [el("a", { href: runLink(run.id), "data-key": `open ${run.id}`, class: "settings" }, el("bdi", {}, run.words || "no settings")),
    run.repeat > 1 ? el("span", { class: "unit" }, ` repeat ${run.repeat}`) : null, run.attempt > 1 ? el("span", { class: "unit" }, `, attempt ${run.attempt}`) : null,
    text ? el("span", { class: run.error ? "error line" : "flag line" }, text) : null];
}

export const stateText = (state) => el("span", { class: `state ${state}` }, el("span", { class: `swatch ${state}`, "aria-hidden": "true" }), ` ${state}`);

/* name: what it is sorted by; of: the cell; narrow: shown on phones, too; t: text, to the left. */
const columns = [
  { name: "id", head: "run", t: true, narrow: true, of: (run) => run.id },
  { name: "state", head: "state", t: true, narrow: true, of: (run) => stateText(run.state) },
  { name: "workload", head: "settings", t: true, narrow: true, of: settingsCell },
  { name: "started", head: "started", t: true, of: (run) => orMissing(run.started_ms, (v) => clock(v).slice(0, 16), whyNone.planned) },
  { name: "time_s", head: "time", narrow: true, of: (run) => orMissing(run.time_s, duration, why(run, "not recorded")) },
  { name: "epoch_time_s", head: "epoch", of: (run) => orMissing(run.epoch_time_s, duration, why(run, "the run marked no epoch")) },
  { name: "energy_j", head: "energy", narrow: true, of: energyCell },
  { name: "mean_power_w", head: "mean power", of: (run) => orMissing(run.mean_power_w, (v) => amount(v, "W"), why(run, "no power was read")) },
  { name: "util_pct", head: "utilisation", of: (run) => orMissing(run.util_pct, (v) => `${digits(v)} %`, why(run, "no utilisation was read")) },
  { name: "metric_value", head: "metric", of: metricCell },
];

function energyCell(run) {
  if (!known(run.energy_j)) return missing(why(run, "no energy was measured"));
  return [el("span", { title: amountBetween(run.energy_j, run.energy_lo_j, run.energy_hi_j, "J") }, amount(run.energy_j, "J")), " ", badge(run)];
}

function metricCell(run) {
  if (!known(run.metric_value)) return missing(why(run, "the run reported none"));
  return [digits(run.metric_value, 4), el("span", { class: "unit" }, ` ${[run.metric_unit, run.metric].filter(Boolean).join(" ")}`)];
}

const classOf = (column) => [`of-${column.name}`, column.t && "t", !column.narrow && "wide"].filter(Boolean).join(" ");

/* ---- the runs that are chosen, on every page of the table ---- */

const chosen = [];

function choose(id, isOn) {
  const at = chosen.indexOf(id);
  if (at >= 0) chosen.splice(at, 1);
  if (isOn) chosen.push(id);
  if (chosen.length > 2) chosen.shift(); /* the last two count */
}

/* From the view of a run. */
export function chooseRun(id) {
  choose(id, true);
  return chosen.length === 2 ? compareLink(...chosen) : runsLink({});
}

/* ---- the view. Its table has explicit roles: the layout on phones is none of a table ---- */

function selector(label, name, options, value, act) {
  const select = el("select", { id: `filter-${name}`, onchange: () => act({ [name]: select.value }) }, options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value || "";
  return { select, element: el("label", {}, `${label} `, select) };
}

const optionsOf = (names, all) => [["", all], ...names.map((name) => [name, name])];

function refill(select, options, value) {
  if ([...select.options].map((o) => o.value).join("\n") !== options.map(([key]) => key).join("\n")) fill(select, options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value;
}

export function runsView(context, ids, query) {
  const asked = { q: "", state: "", workload: "", campaign: "", store: "", sort: "id", order: "desc", offset: 0 };
  for (const name of Object.keys(asked)) if (name in query) asked[name] = query[name]; /* a link may have anything */
  asked.offset = Math.max(0, Number.parseInt(asked.offset, 10) || 0);
  let workloads = [];

  const body = el("tbody", { role: "rowgroup" }), count = el("p", { class: "source", id: "count", role: "status" }), pager = el("div", { class: "pager" }), compare = el("p", { class: "compare" });
  const heads = columns.map((column) => el("th", { scope: "col", role: "columnheader", class: classOf(column) },
    el("button", { type: "button", onclick: () => sortBy(column.name) }, column.head)));
  const table = el("table", { id: "runs", role: "table" }, el("caption", { class: "unseen" }, "Runs"),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, el("th", { scope: "col", role: "columnheader", class: "t pick" }, el("span", { class: "unseen" }, "compare")), heads)), body);
  const search = el("input", { id: "filter-q", type: "search", value: asked.q, placeholder: "number, settings, host, error ...", maxlength: 200, oninput: () => typed() });
  const state = selector("state", "state", optionsOf(states, "all"), asked.state, ask);
  const workload = selector("workload", "workload", [["", "all"]], asked.workload, ask);
  const campaign = selector("campaign", "campaign", [["", "all"]], asked.campaign, ask);
  const store = selector("store", "store", [["", "all"]], asked.store, ask);
  const reset = el("button", { type: "button", onclick: () => { search.value = ""; ask({ q: "", state: "", workload: "", campaign: "", store: "" }); } }, "show all");
  const filters = el("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    el("label", {}, "text ", search), state.element, workload.element, campaign.element, store.element, reset);

  let timer = 0;
  function typed() {
    clearTimeout(timer);
    timer = setTimeout(() => ask({ q: search.value.trim() }), 200);
  }

  /* The address follows, so that it can be shared and gone back to. */
  function ask(change) {
    Object.assign(asked, { offset: 0 }, change);
    const { offset, sort, order, ...rest } = asked;
    history.replaceState(null, "", runsLink({ ...rest, sort: sort === "id" ? "" : sort, order: order === "desc" ? "" : order, offset: offset || "" }));
    rows.now();
  }

  function sortBy(name) {
    const isSame = asked.sort === name;
    ask({ sort: name, order: isSame && asked.order === "asc" ? "desc" : isSame ? "asc" : name === "id" || name === "started" ? "desc" : "asc" });
  }

  function showCompare() {
    const [a, b] = chosen;
    compare.hidden = chosen.length === 0;
    fill(compare, chosen.length === 2 ? [el("a", { class: "button", href: compareLink(a, b), "data-key": "compare" }, `Compare ${a} with ${b}`), " "] : chosen.length === 1 ? `Run ${a} is chosen: choose a second one to compare it with. ` : null,
      el("button", { type: "button", "data-key": "choose none", onclick: () => { chosen.length = 0; showChosen(); } }, "choose none"));
  }

  function showChosen() {
    for (const box of body.querySelectorAll("input")) {
      box.checked = chosen.includes(box.value);
      box.closest("tr").classList.toggle("chosen", box.checked);
    }
    showCompare();
  }

  const row = (run) => el("tr", { role: "row", class: chosen.includes(run.id) ? "chosen" : null },
    el("td", { role: "cell", class: "t pick" }, el("input", { type: "checkbox", value: run.id, checked: chosen.includes(run.id), "aria-label": `compare run ${run.id}`, "data-key": `pick ${run.id}`,
      onchange: (event) => { choose(run.id, event.target.checked); showChosen(); } })),
    columns.map((column) => el(column.name === "id" ? "th" : "td", { scope: column.name === "id" ? "row" : null, role: column.name === "id" ? "rowheader" : "cell", class: classOf(column) }, column.of(run))));

  function showPager({ matched, offset }) {
    const page = (to, text, disabled) => el("button", { type: "button", disabled, "data-key": `page ${text}`, onclick: () => ask({ offset: to }) }, text);
    const last = Math.max(0, PAGE * Math.floor((matched - 1) / PAGE));
    pager.hidden = matched <= PAGE;
    fill(pager, page(0, "first", offset === 0), page(Math.max(0, offset - PAGE), "previous", offset === 0), el("span", {}, `page ${Math.floor(offset / PAGE) + 1} of ${Math.floor(last / PAGE) + 1}`),
      page(offset + PAGE, "next", offset + PAGE >= matched), page(last, "last", offset >= last));
  }

  const rows = part(async (signal) => {
    const data = await get("runs", { ...asked, limit: PAGE }, signal);
    if (data.matched > 0 && data.runs.length === 0) return ask({ offset: PAGE * Math.floor((data.matched - 1) / PAGE) }); /* the page has gone */
    workloads = data.workloads;
    refill(workload.select, optionsOf(workloads, "all"), asked.workload);
    workload.element.hidden = workloads.length < 2 && !asked.workload;
    heads.forEach((head, i) => {
      if (columns[i].name === asked.sort) head.setAttribute("aria-sort", asked.order === "asc" ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    fill(body, data.runs.map(row));
    table.hidden = data.runs.length === 0;
    say(count, data.total === 0 ? "There is no run in this store yet." : data.matched === 0 ? `None of ${counted(data.total, "run")} matches.`
      : data.matched === data.total ? `${counted(data.total, "run")}.` : `${data.matched.toLocaleString("en")} of ${counted(data.total, "run")}.`);
    showPager(data);
    showCompare();
  }, context.fail);

  return {
    title: "Runs",
    element: el("section", { "aria-label": "Runs" }, el("h2", {}, "Runs"), filters, compare, count, el("div", { class: "scroll" }, table), pager),
    load: rows.now,
    overview({ stores }) {
      const campaigns = [...new Set(stores.flatMap((one) => one.campaigns.map((c) => c.campaign)))];
      refill(campaign.select, optionsOf(campaigns, "all"), asked.campaign);
      campaign.element.hidden = campaigns.length < 2 && !asked.campaign;
      refill(store.select, [["", "all"], ...stores.map((one) => [String(one.store), one.name])], asked.store);
      store.element.hidden = stores.length < 2;
    },
    event(name) { if (name === "run" || name === "progress") rows.touch(); },
    again: rows.touch,
    close() {
      clearTimeout(timer);
      rows.close();
    },
  };
}
