/** Elements of the page, made without markup: text is always text. */

import { text } from "./texts.js";

/**
 * @param {string} tag
 * @param {Record<string, any>} [properties] `on` has listeners by event; other names are attributes, and those
 *   that are null, undefined or false are left out.
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {any}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children.filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

let fields = 0;

/** A line to be copied. @param {string} line @returns {HTMLElement} */
export function copyable(line) {
  const code = element("code", {}, line);
  const copy = button(text("copy"), async () => {
    // Browsers have no clipboard for pages that are neither local nor read by HTTPS: their users press the keys.
    if (navigator.clipboard) await navigator.clipboard.writeText(line);
    else getSelection()?.selectAllChildren(code);
    copy.textContent = text(navigator.clipboard ? "copied" : "selected");
  }, { class: "plain" });
  return element("div", { class: "command" }, code, copy);
}

/**
 * A button that is no part of a form's submission.
 * @param {string} text
 * @param {() => void} act
 * @param {Record<string, any>} [properties]
 * @returns {HTMLButtonElement}
 */
export function button(text, act, properties = {}) {
  return element("button", { type: "button", ...properties, on: { click: act } }, text);
}

/**
 * @param {readonly import("./texts.js").Key[]} heads
 * @param {(string | Node)[][]} rows the first cell of each is its heading
 * @returns {HTMLTableElement}
 */
export function table(heads, rows) {
  const cells = (/** @type {(string | Node)[]} */ row) =>
    row.map((cell, at) => (at ? element("td", {}, cell) : element("th", { scope: "row" }, cell)));
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...heads.map((key) => element("th", { scope: "col" }, text(key))))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}

/**
 * A field with its label.
 * @param {string} text
 * @param {HTMLElement} field
 * @returns {HTMLElement}
 */
export function labelled(text, field) {
  field.id ||= `field-${++fields}`;
  return element("div", { class: "field" }, element("label", { for: field.id }, text), field);
}

/**
 * @param {Record<string, string>} options the texts by their values
 * @param {string} chosen
 * @param {(value: string) => void} choose
 * @param {Record<string, any>} [properties]
 * @returns {HTMLSelectElement}
 */
export function choice(options, chosen, choose, properties = {}) {
  const made = element(
    "select",
    { ...properties, on: { change: () => choose(made.value) } },
    ...Object.entries(options).map(([value, text]) =>
      element("option", { value, selected: value === chosen }, text),
    ),
  );
  return made;
}
