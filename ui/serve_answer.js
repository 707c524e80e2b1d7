/* The answer so far: the card of the report, whose sentences the server sends. */
import { el, name } from "./serve_dom.js";

/* "bert" of "bert on A100"; the name of the store where there are several. */
function cardElement(card, of) {
  const rows = [[card.shown ? "Saves" : "Because", card.saves], ["How sure", card.sure], ["Next", card.next]];
  return el("div", { class: card.shown ? "answer" : "answer open" },
    el("p", { class: "use" }, of ? el("span", { class: "workload" }, name(of), ": ") : null, card.shown ? "Use " : null, el("strong", {}, name(card.use))),
    el("dl", {}, rows.filter(([, text]) => text).map(([head, text]) => el("div", {}, el("dt", {}, head), el("dd", {}, text)))),
    card.sure && card.notes.length ? el("ul", { class: "notes" }, card.notes.map((note) => el("li", {}, note))) : null);
}

/* answers: those of api/v1/card, one a store; names: of these stores. */
export function answerElements(answers, names) {
  return answers.flatMap(({ cards, error }, i) => {
    const shown = error ? [{ workload: null, shown: false, use: "No setting can be recommended yet", saves: error, notes: [] }] : cards;
    return shown.map((card) => cardElement(card, [answers.length > 1 && names[i], card.workload].filter(Boolean).join(", ")));
  });
}
