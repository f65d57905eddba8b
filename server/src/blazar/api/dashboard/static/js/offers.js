/** What the API offers instead of what it refuses, each to be taken with one click. */

import { Refused } from "./api.js";
import { button, element } from "./element.js";
import { parsed, shown } from "./moments.js";
import { text } from "./texts.js";

/**
 * @param {unknown} refusal
 * @param {(lease: Record<string, unknown>) => void} take with the body to send
 * @returns {Node[]}
 */
export function offers(refusal, take) {
  const answers = refusal instanceof Refused ? refusal.body?.suggestions?.answers ?? [] : [];
  if (!answers.length) return [];
  const cards = answers.map((/** @type {any} */ answer) => {
    const said = `${shown(parsed(answer.start_date))} – ${shown(parsed(answer.end_date))}`;
    return element(
      "div",
      { class: "offer" },
      element("span", {}, answer.description || said),
      element("small", {}, said),
      button(text("take"), () => take(answer.lease)),
    );
  });
  return [element("h3", {}, text("insteadHeading")), ...cards];
}
