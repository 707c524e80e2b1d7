/* Requests to the server (docs/reference/serve.md). Paths are relative: the page may be below the path of a proxy. */
const BASE = "api/v1/";

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

let onLogin = () => {};

/* What is done when the server wants its token. */
export const whenLoginIsNeeded = (act) => { onLogin = act; };

async function answerOf(response) {
  const json = (response.headers.get("Content-Type") || "").startsWith("application/json");
  const body = json ? await response.json() : null;
  if (response.ok) return body;
  if (response.status === 401) onLogin();
  throw new Refused(response.status, (body && body.error) || `the server answers with status ${response.status}`);
}

function query(parameters) {
  const text = new URLSearchParams(Object.entries(parameters || {}).filter(([, v]) => v !== "" && v !== null && v !== undefined)).toString();
  return text ? `?${text}` : "";
}

async function reach(path, how) {
  try {
    return await fetch(path, { credentials: "same-origin", ...how });
  } catch (why) {
    if (why.name === "AbortError") throw why;
    throw new Refused(0, "the server does not answer");
  }
}

/* The JSON of api/v1/PATH?parameters. cache "no-cache" asks with the ETag of what the browser has: unchanged answers cost nothing. */
export async function get(path, parameters, signal) {
  return answerOf(await reach(BASE + path + query(parameters), { cache: "no-cache", signal }));
}

export async function post(path, fields, headers) {
  return answerOf(await reach(BASE + path, { method: "POST", body: new URLSearchParams(fields || {}), headers }));
}

export async function postJson(path, object, headers) {
  return answerOf(await reach(BASE + path, { method: "POST", body: JSON.stringify(object), headers: { "Content-Type": "application/json", ...headers } }));
}

export const eventsUrl = `${BASE}events`;
export const downloadUrl = (store, name, parameters) => `download/${store}/${name}${query(parameters)}`;
export const reportUrl = (store) => `report/${store}`;
