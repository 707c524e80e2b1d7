/* Views by the fragment of the address: #/, #/runs?state=failed, #/run/1-12, #/compare/1-12/1-17, #/laws, #/files. A link to what
 * is seen can be shared; what is secret is never in it. */
const views = { "": ["overview", 0], runs: ["runs", 0], run: ["run", 1], compare: ["compare", 2], laws: ["laws", 0], files: ["files", 0] };
const isRun = (text) => /^\d{1,9}-\d{1,18}$/.test(text);

/* {view, ids, query}; what no view has is the overview. */
export function routeOf(fragment) {
  const [path, query] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [name, ...ids] = path.split("/").filter(Boolean);
  const row = Object.hasOwn(views, name || "") ? views[name || ""] : null;
  if (!row || ids.length !== row[1] || !ids.every(isRun)) return { view: "overview", ids: [], query: {}, unknown: path !== "" };
  return { view: row[0], ids, query: Object.fromEntries(new URLSearchParams(query || "")) };
}

const link = (path, parameters) => {
  const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, v]) => v !== "" && v !== null && v !== undefined)).toString();
  return `#/${path}${query ? `?${query}` : ""}`;
};

export const runsLink = (parameters) => link("runs", parameters);
export const runLink = (id) => link(`run/${id}`);
export const compareLink = (a, b) => link(`compare/${a}/${b}`);
