/* The first view: the answer so far, progress, what runs now, the laws so far and what failed. */
import { el, fill, name } from "./serve_dom.js";
import { get } from "./serve_api.js";
import { part } from "./serve_refresh.js";
import { answerElements } from "./serve_answer.js";
import { runButton } from "./serve_control.js";
import { campaignElement } from "./serve_progress.js";
import { liveRun, elapsed, epochText } from "./serve_live_run.js";
import { failedElement } from "./serve_failed.js";
import { lawList } from "./serve_laws.js";
import { amount, badge, counted, duration, known } from "./serve_text.js";
import { runLink } from "./serve_route.js";

const MOST_LIVE = 4, MOST_LAWS = 2, MOST_ANSWERS = 6;

/* ---- what runs now ---- */

function liveCard(id, onError) {
  const head = el("h3", {}, el("a", { href: runLink(id) }, `run ${id}`)), facts = el("p", { class: "now" }), act = el("p", { class: "buttons" });
  const live = liveRun(id, {
    most: 3, points: 300, onError,
    onRun(run) {
      fill(head, el("a", { href: runLink(id), "data-key": "run" }, `run ${id}`), " ", name(run.words || "no settings"), " ", badge(run));
      fill(act, runButton(id, "running", run.alive));
      const power = known(run.mean_power_w) ? `, ${amount(run.mean_power_w, "W")} on average` : "";
      facts.textContent = [run.host && `on ${run.host}`, known(elapsed(run)) && `${duration(elapsed(run))} so far`, epochText(run),
        known(run.energy_j) && `${amount(run.energy_j, "J")}${power}`, run.alive === false && "its wattlaw has died: nothing more comes"].filter(Boolean).join("; ");
    },
  });
  return { ...live, card: el("article", { class: "live", "data-run": id }, head, facts, act, live.element) };
}

export function overviewView(context) {
  const answerTitle = () => el("h2", { id: "answer-title" }, "Which setting to use, so far");
  const answer = el("section", { id: "choice-card", "aria-labelledby": "answer-title" }, answerTitle(), el("p", { class: "source" }, "Being computed ..."));
  const progress = el("section", { "aria-label": "Progress" }), running = el("section", { hidden: true }), failed = el("section", { hidden: true });
  const laws = lawList(MOST_LAWS, context.fail);
  const cards = new Map();
  const noted = el("p", { class: "source", hidden: true });
  running.append(el("h2", {}, "Running now"), noted);

  function showRunning(ids) {
    const shown = ids.slice(0, MOST_LIVE);
    for (const [id, card] of cards) {
      if (shown.includes(id)) continue;
      card.close();
      card.card.remove();
      cards.delete(id);
    }
    for (const id of shown) {
      if (cards.has(id)) continue;
      const card = liveCard(id, context.fail);
      cards.set(id, card);
      running.append(card.card);
      card.load();
    }
    pageCharts.forgetDetached();
    running.hidden = ids.length === 0;
    noted.hidden = ids.length <= MOST_LIVE;
    noted.replaceChildren(`${shown.length} of ${ids.length} running runs. `, el("a", { href: "#/runs?state=running" }, "All of them"));
  }

  function showFailed(stores) {
    const list = stores.flatMap((store) => store.campaigns.flatMap((c) => c.failed));
    const count = stores.reduce((sum, store) => sum + store.campaigns.reduce((n, c) => n + c.runs.failed, 0), 0);
    failed.hidden = list.length === 0;
    fill(failed, el("h2", {}, `Failed runs`), count > 10 ? el("p", { class: "source" }, "The first 10 of ", el("a", { href: "#/runs?state=failed" }, counted(count, "failed run")), ".") : null,
      list.slice(0, 10).map((run) => failedElement(run, failed)));
  }

  function showStores({ stores }) {
    const campaigns = stores.flatMap((store) => store.campaigns.map((c) => [store.store, c]));
    const head = (store) => (stores.length > 1 ? el("p", { class: "source" }, `${store.name} `, el("code", {}, store.path)) : null);
    fill(progress, el("h2", {}, campaigns.length > 1 ? "Campaigns" : "Progress"), stores.map((store) => [head(store),
      store.error ? el("p", { class: "notice" }, `${store.path}: ${store.error}`) : null,
      !store.error && store.campaigns.length === 0 ? el("p", { class: "empty" }, "There is no run in this store yet. ", el("code", {}, "wattlaw sweep FILE.ini"), " or ", el("code", {}, "wattlaw measure -- COMMAND"), " fills it, and this page follows.") : null,
      store.campaigns.map((c) => campaignElement(store.store, c))]).flat(2));
    showRunning(campaigns.flatMap(([, c]) => c.running));
    showFailed(stores);
    const anyRun = stores.some((store) => store.runs > 0);
    answer.hidden = laws.element.hidden = !anyRun;
    return anyRun;
  }

  const answers = part(async (signal) => {
    const stores = (context.overview() || { stores: [] }).stores.filter((store) => store.runs > 0 && !store.error).slice(0, MOST_ANSWERS);
    const read = await Promise.all(stores.map((store) => get("card", { store: store.store }, signal)));
    fill(answer, answerTitle(), answerElements(read, stores.map((store) => store.name)),
      el("p", { class: "caption" }, "As ", el("code", {}, "wattlaw recommend"), " says without options: least energy within 10 % of the time of the same setting without a cap (of the fastest one where no cap varied)."));
  }, context.fail);

  let seen = "";
  return {
    title: "Overview",
    element: el("div", {}, answer, progress, running, laws.element, failed),
    overview(data) {
      const anyRun = showStores(data);
      const done = data.stores.map((store) => store.campaigns.map((c) => c.runs.done)).join();
      if (anyRun && done !== seen) answers.touch();
      if (anyRun && done !== seen) laws.touch();
      seen = done;
    },
    event(what, data) {
      if (what === "laws") {
        laws.touch();
        answers.touch();
      }
      if (data && cards.has(data.id)) cards.get(data.id).event(what, data);
    },
    again() { for (const one of [answers, laws, ...cards.values()]) one.touch ? one.touch() : one.load(); },
    close() {
      for (const one of [answers, laws, ...cards.values()]) one.close();
    },
  };
}
