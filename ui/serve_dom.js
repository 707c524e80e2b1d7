/* Elements of the page, made of texts: nothing that comes from a store is ever parsed as HTML. */

/* el("td", { class: "t" }, "text", node, null): attributes that are null or false are left out; on* are listeners; properties
 * that attributes do not set (value, checked, disabled, hidden) are set as such. */
const properties = new Set(["value", "checked", "disabled", "hidden", "open", "selected"]);

export function el(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (properties.has(key)) element[key] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/* Replaces what an element holds; the focus stays at the element with the same data-key, and what is scrolled stays so. */
export function fill(parent, ...children) {
  const active = document.activeElement;
  const key = parent.contains(active) ? active.dataset.key : null;
  const scrolled = [...parent.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  [...parent.querySelectorAll(".scroll")].forEach((one, i) => { one.scrollLeft = scrolled[i] || 0; });
  if (key) [...parent.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key)?.focus({ preventScroll: true });
}

/* A name of a store's in a line with other text: what turns the direction of writing in it ends with it. */
export const name = (text) => el("bdi", {}, text);

export const byId = (id) => document.getElementById(id);

/* A text that changes only where it differs: a screen reader does not say the same text twice. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
