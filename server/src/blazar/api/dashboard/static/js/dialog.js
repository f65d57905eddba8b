/** A dialog of the browser's own: it holds the focus, closes with Escape, and gives the focus back. */

import { button, element } from "./element.js";
import { text } from "./texts.js";

/**
 * @param {string} title
 * @param {...(Node | null)} content
 * @returns {HTMLDialogElement}
 */
export function openDialog(title, ...content) {
  const heading = element("h2", { id: "dialog-title" }, title);
  /** @type {HTMLDialogElement} */
  const dialog = element(
    "dialog",
    { "aria-labelledby": "dialog-title", on: { close: () => dialog.remove() } },
    element("header", {}, heading, button("×", () => dialog.close(), { class: "plain", "aria-label": text("close") })),
    ...content,
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
