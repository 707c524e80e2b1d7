/* The page of wattlaw serve: which view is shown, what the server's events concern, and how the connection is. */
import { byId, fill, say } from "./serve_dom.js";
import { eventsUrl, get, post, whenLoginIsNeeded } from "./serve_api.js";
import { allowBy } from "./serve_control.js";
import { openStream } from "./serve_live.js";
import { part } from "./serve_refresh.js";
import { routeOf } from "./serve_route.js";
import { counted } from "./serve_text.js";
import { hasEnded } from "./serve_progress.js";
import { compareView } from "./serve_compare.js";
import { filesView } from "./serve_files.js";
import { lawsView } from "./serve_laws.js";
import { overviewView } from "./serve_overview.js";
import { runView } from "./serve_run.js";
import { runsView } from "./serve_runs.js";

const views = { overview: overviewView, runs: runsView, run: runView, compare: compareView, laws: lawsView, files: filesView };
const root = document.documentElement;

let view = null, stream = null, overviewData = null, connection = "connecting";

/* ---- what went wrong ---- */

function fail(why) {
  if (why.status === 401) return; /* the form asks */
  const notice = byId("notice");
  say(notice, `${why.message}. What is shown is as it was before.`);
  notice.hidden = false;
}

const isWell = () => { byId("notice").hidden = true; };
const context = { fail, overview: () => overviewData };

/* ---- the head of the page ---- */

function campaigns() {
  return (overviewData ? overviewData.stores : []).flatMap((store) => store.campaigns);
}

const words = { connecting: "connecting", reconnecting: "reconnecting", paused: "paused", login: "not logged in" };

/* "live, 2 runs running", "ended": nothing runs and nothing is left. */
function showConnection() {
  const running = campaigns().reduce((sum, c) => sum + c.runs.running, 0), isOver = connection === "live" && campaigns().length > 0 && campaigns().every(hasEnded);
  const state = isOver ? "ended" : connection;
  byId("live").dataset.state = state;
  say(byId("live-text"), words[state] || (isOver ? "ended: no run is left" : running > 0 ? `live: ${counted(running, "run")} running` : "live: no run is running"));
}

function showHead() {
  const names = (overviewData ? overviewData.stores : []).map((store) => store.name);
  const title = names.length === 0 ? "wattlaw" : names.length <= 3 ? names.join(", ") : `${names.slice(0, 2).join(", ")} and ${names.length - 2} more stores`;
  say(byId("title"), title);
  const versions = [...new Set(campaigns().map((c) => c.version).filter(Boolean))].join(", ");
  const paths = (overviewData ? overviewData.stores : []).map((store) => store.path).slice(0, 3).join(", ");
  say(byId("subtitle"), `${paths}${versions ? `, measured with wattlaw ${versions}` : ""}`);
  document.title = `${view ? `${view.title} - ` : ""}${title} - wattlaw`;
  showConnection();
}

const overview = part(async (signal) => {
  overviewData = await get("overview", null, signal);
  isWell();
  showHead();
  if (view && view.overview) view.overview(overviewData);
}, fail);

/* ---- views ---- */

function show() {
  const route = routeOf(location.hash);
  if (view) view.close();
  view = views[route.view](context, route.ids, route.query);
  fill(byId("content"), view.element);
  pageCharts.forgetDetached();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === route.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (overviewData && view.overview) view.overview(overviewData);
  if (view.load) view.load();
  showHead();
}

/* A view that was asked for by a link is read from its begin. */
function navigate() {
  show();
  scrollTo(0, 0);
  byId("content").focus({ preventScroll: true });
}

/* ---- events ---- */

const eventNames = ["hello", "run", "epoch", "progress", "readings", "laws", "control", "reset"];

function everything() {
  isWell();
  overview.touch();
  if (view && view.again) view.again();
}

/* Only what somebody waits for is said aloud. */
function announce(name, data) {
  if (name === "run" && data.state === "failed") say(byId("news"), `Run ${data.id} failed.`);
  if (name === "progress" && data.running === 0 && data.done + data.failed >= data.runs) say(byId("news"), "All runs have ended.");
}

function event(name, data) {
  if (name === "hello") return;
  if (name === "reset") return everything();
  announce(name, data);
  if (["run", "progress", "control"].includes(name)) overview.touch();
  if (view && view.event) view.event(name, data);
}

let wasOpen = false;

function listen() {
  wasOpen = false;
  stream = openStream(eventsUrl, eventNames, {
    event,
    state(next) {
      connection = next;
      showConnection();
    },
    opened() {
      if (wasOpen) everything(); /* what happened meanwhile is not known */
      wasOpen = true;
    },
    /* A server that was started anew does not know our cookie. */
    retrying() { get("session").then((session) => { if (session.login) askForToken(); }).catch(() => {}); },
  });
}

/* ---- the token ---- */

function askForToken() {
  byId("login").hidden = false;
  byId("content").hidden = true;
  if (stream) stream.close();
  stream = null;
  connection = "login";
  showConnection();
  byId("token").focus();
}

async function login(event) {
  event.preventDefault();
  const token = byId("token");
  try {
    await post("login", { token: token.value });
  } catch (why) {
    say(byId("login-error"), why.status === 401 ? "This is not the token." : why.message);
    token.select();
    return;
  }
  token.value = "";
  say(byId("login-error"), "");
  byId("login").hidden = true;
  byId("content").hidden = false;
  await knowSession().catch(fail);
  begin();
}

async function logout() {
  await post("logout").catch(fail);
  location.reload();
}

/* ---- the beginning ---- */

function begin() {
  overview.now();
  show();
  if (!stream) listen();
}

/* Is a token needed, and what may be changed? */
async function knowSession() {
  const session = await get("session");
  byId("logout").hidden = !session.logout;
  allowBy(session);
  return session;
}

async function start() {
  whenLoginIsNeeded(askForToken);
  const session = await knowSession();
  if (session.login) askForToken();
  else begin();
}

byId("theme").addEventListener("click", () => {
  root.dataset.theme = look.isDark() ? "light" : "dark";
  pageCharts.recolour();
});
byId("skip").addEventListener("click", () => byId("content").focus());
byId("said-close").addEventListener("click", () => {
  byId("said").hidden = true;
  byId("content").focus({ preventScroll: true });
});
byId("login").addEventListener("submit", login);
byId("logout").addEventListener("click", logout);
look.systemDark.addEventListener("change", pageCharts.recolour);
addEventListener("hashchange", navigate);
start().catch(fail);
