/* The answer so far: what wattlaw recommend says of each workload, in the words of the report's card. */
import { el, name } from "./serve_dom.js";
import { known, digits, probability, provenance } from "./serve_text.js";

const percentOf = (ratio) => digits(Math.abs(100 * (1 - ratio)), 2);
const less = ([lo, hi]) => `${digits(100 * (1 - hi), 2)} to ${digits(100 * (1 - lo), 2)} %`;

/* "12 % less energy than with cap 250 W, in 1.2 % more time" */
function saving(answer, goal) {
  const over = answer.over_reference, word = provenance(answer);
  const time = over.time_ratio, what = `${percentOf(over[`${goal}_ratio`])} % less ${goal}${word ? ` (${word})` : ""} than with ${answer.reference}`;
  if (goal === "time" || !known(time)) return what;
  return Math.abs(time - 1) < 5e-4 ? `${what}, in the same time` : `${what}, in ${percentOf(time)} % ${time > 1 ? "more" : "less"} time`;
}

function sure(answer, goal, isShown) {
  const interval = answer.over_reference && answer.over_reference[`${goal}_ratio_interval95`], parts = [];
  if (isShown && interval && known(interval[0])) parts.push(`95 % interval of the saving: ${less(interval)}.`);
  if (answer.runner_up && known(answer.ahead_of_runner_up))
    parts.push(`Better than the next best, ${answer.runner_up}, with probability ${probability(answer.ahead_of_runner_up)}; within 3 % of the best with ${probability(answer.within_3_percent)}.`);
  else parts.push("No other measured setting is within the limits.");
  return parts.join(" ");
}

/* {use, shown, rows: [[head, text]]} */
function wordsOf(answer) {
  const goal = answer.minimize || "energy";
  if (answer.error) return { use: "No setting can be recommended yet", shown: false, rows: [["Because", answer.error]] };
  if (!answer.choice) {
    const needed = (answer.limits || []).find((limit) => limit.limit === answer.binding);
    return { use: "No setting is within the limits", shown: false,
      rows: [answer.nearest && ["Nearest", answer.nearest], answer.binding && ["Because", `it exceeds ${answer.binding}${needed && known(needed.needed) ? `, which would have to be ${digits(needed.needed)}` : ""}`]] };
  }
  if ((answer.settings || []).length === 1)
    return { use: `Only one setting is measured: ${answer.choice}`, shown: false, rows: [["Next", "measure other settings"]] };
  const ratio = answer.over_reference && answer.over_reference[`${goal}_ratio`];
  const interval = answer.over_reference && answer.over_reference[`${goal}_ratio_interval95`];
  const next = answer.next_run && ["Next", `measure ${answer.next_run} again`];
  if (answer.reference && answer.reference !== answer.choice && interval && interval[1] < 1)
    return { use: answer.choice, shown: true, rows: [["Saves", saving(answer, goal)], ["How sure", sure(answer, goal, true)], next] };
  if (answer.reference && answer.reference !== answer.choice && known(ratio))
    return { use: `No setting is shown to be better than ${answer.reference}`, shown: false,
      rows: [["Because", `${answer.choice} may need less ${goal}${interval && known(interval[0]) ? `: 95 % interval of the saving ${less(interval)}` : ""}`], ["How sure", sure(answer, goal, false)], next] };
  const isAhead = !answer.runner_up || answer.ahead_of_runner_up >= answer.probability;
  return { use: isAhead ? answer.choice : `No setting is shown to be better than ${answer.choice}`, shown: isAhead,
    rows: [["Saves", goal === "time" ? "nothing: it is the fastest; energy was not measured" : "nothing: it is its own reference, and no other setting saves energy within the limits"], ["How sure", sure(answer, goal, false)], next] };
}

/* "bert" of "bert on A100"; the name of the store where there are several. */
function answerElement(answer, of) {
  const words = wordsOf(answer);
  return el("div", { class: words.shown ? "answer" : "answer open" },
    el("p", { class: "use" }, of ? el("span", { class: "workload" }, name(of), ": ") : null, words.shown ? "Use " : null, el("strong", {}, name(words.use))),
    el("dl", {}, words.rows.filter(Boolean).map(([head, text]) => el("div", {}, el("dt", {}, head), el("dd", {}, text)))));
}

/* recommendations: answers of api/v1/recommendation, one a store; names: of these stores. */
export function answerElements(recommendations, names) {
  const several = recommendations.length > 1;
  return recommendations.flatMap((recommendation, i) => (recommendation.answers || [recommendation]).map((answer) =>
    answerElement({ ...recommendation, ...answer }, [several && names[i], answer.workload].filter(Boolean).join(", "))));
}
