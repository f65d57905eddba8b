/** Leases that are drawn, moved and pulled with the pointer: what is meant by it, and its shadow on the rows. */

import { element } from "./element.js";
import { MINUTE, duration, shown } from "./moments.js";
import { mayChange } from "./texts.js";

const EDGE = 8;
/** Of a finger, which is not as exact. */
const FINGER = 24;
export const DRAG = 5;
const SWIPE = 10;
/** How long a finger rests on what it takes hold of, in milliseconds. */
const HOLD = 400;

/** @typedef {import("./rows.js").Bar} Bar */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {{ start: number, end: number }} Dates */
/** @typedef {"start" | "end" | "both"} Part */
/** What is drawn: the new dates of a lease, or a new lease. @typedef {{ bar: Bar | null, row?: Row, dates: Dates, isByKey?: boolean }} Drawing */

/**
 * @param {Bar} bar
 * @param {string} project of the user
 * @returns {Part[]} the parts of a bar that its user may move
 */
export function movable(bar, project) {
  if (bar.type !== "lease" || !bar.id || (bar.project !== project && !mayChange(bar.right))) return [];
  if (bar.status === "PENDING") return ["start", "end", "both"];
  return bar.status === "ACTIVE" ? ["end"] : [];
}

/**
 * @param {Part[]} parts
 * @param {number} x where the pointer is
 * @param {DOMRect} box of the bar
 * @param {boolean} isFinger
 * @returns {Part | undefined} what the pointer takes hold of
 */
export function partAt(parts, x, box, isFinger) {
  const edge = Math.min(isFinger ? FINGER : EDGE, box.width / 3);
  if (parts.includes("end") && x >= box.right - edge) return "end";
  if (parts.includes("start") && x <= box.left + edge) return "start";
  return parts.includes("both") ? "both" : undefined;
}

/**
 * @param {Dates} old
 * @param {Part} part
 * @param {number} by milliseconds
 * @param {number} step of the dates
 * @returns {Dates} in whole steps; nothing begins in the past
 */
export function moved(old, part, by, step) {
  const soon = Math.ceil(Date.now() / MINUTE + 1) * MINUTE;
  const at = (/** @type {number} */ moment) => snapped(moment + by, step);
  if (part === "end") return { start: old.start, end: Math.max(at(old.end), old.start + step, soon + step) };
  if (part === "start") return { start: Math.min(Math.max(at(old.start), soon), old.end - MINUTE), end: old.end };
  const start = Math.max(at(old.start), soon);
  return { start, end: start + old.end - old.start };
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} step
 * @returns {Dates} of a new lease between both, a step long at least
 */
export function between(from, to, step) {
  const soon = Math.ceil(Date.now() / MINUTE + 1) * MINUTE;
  const start = Math.max(snapped(Math.min(from, to), step), soon);
  return { start, end: Math.max(snapped(Math.max(from, to), step), start + step) };
}

/** @param {number} moment @param {number} step @returns {number} the nearest step of the viewer's clock */
function snapped(moment, step) {
  const zone = zoneAt(moment);
  const wall = Math.round((moment - zone) / step) * step;
  const found = wall + zone;
  // Where the clocks change in between, the step is one of the new time.
  return zoneAt(found) === zone ? found : wall + zoneAt(wall + zoneAt(found));
}

/** @param {number} moment @returns {number} what UTC is ahead of the viewer's zone then, in milliseconds */
function zoneAt(moment) {
  return new Date(moment).getTimezoneOffset() * MINUTE;
}

/**
 * Follow the pointer until it is let go.
 * @param {PointerEvent} pressed
 * @param {(x: number) => void} follow with where it is, once it has moved far enough to mean it
 * @param {(isMeant: boolean) => void} end whether it was let go, and not given up with Escape
 * @param {boolean} [isDragged] whether it is meant already
 */
export function followed(pressed, follow, end, isDragged = false) {
  const listening = new AbortController();
  const { signal } = listening;
  const over = (/** @type {boolean} */ isMeant) => {
    listening.abort();
    if (isDragged) end(isMeant);
  };
  const isIt = (/** @type {PointerEvent} */ event) => event.pointerId === pressed.pointerId;
  const move = (/** @type {PointerEvent} */ event) => {
    isDragged ||= Math.abs(event.clientX - pressed.clientX) > DRAG;
    if (isDragged && isIt(event)) follow(event.clientX);
  };
  addEventListener("pointermove", move, { signal });
  addEventListener("pointerup", (event) => isIt(event) && over(true), { signal });
  addEventListener("pointercancel", (event) => isIt(event) && over(false), { signal });
  addEventListener("keydown", (event) => event.key === "Escape" && over(false), { signal });
  // A finger that has taken hold of something does not scroll besides.
  addEventListener("touchmove", (event) => isDragged && event.cancelable && event.preventDefault(), { signal, passive: false });
}

/**
 * Find out what a finger means: it rests before it takes hold of something, and moves at once to move the time. What
 * goes up and down is left to the browser, which scrolls.
 * @param {PointerEvent} pressed
 * @param {() => void} held
 * @param {() => void} swiped
 */
export function meant(pressed, held, swiped) {
  const listening = new AbortController();
  const { signal } = listening;
  const over = (/** @type {() => void} */ act) => {
    listening.abort();
    clearTimeout(waits);
    act();
  };
  const waits = setTimeout(() => over(held), HOLD);
  const move = (/** @type {PointerEvent} */ event) => {
    if (event.pointerId === pressed.pointerId && Math.abs(event.clientX - pressed.clientX) > SWIPE) over(swiped);
  };
  addEventListener("pointermove", move, { signal });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => over(() => {}), { signal });
}

/** @param {Dates} dates @returns {string} in words */
export function interval({ start, end }) {
  return `${shown(start)} – ${shown(end)}, ${duration(end - start)}`;
}

/** The bar as it would be, above the rows. */
export class Shadow {
  /** @param {HTMLElement} rows @param {number} top in pixels */
  constructor(rows, top) {
    this._node = element("div", { class: "shadow", "aria-hidden": "true" });
    this._node.style.top = `${top}px`;
    rows.append(this._node);
  }

  /** @param {Dates} dates @param {Scale} scale */
  show({ start, end }, scale) {
    const from = Math.max(scale.place(start), 0);
    const to = Math.min(scale.place(end), 1);
    this._node.style.setProperty("--from", String(from));
    this._node.style.setProperty("--length", String(Math.max(to - from, 0)));
    this._node.replaceChildren(element("span", {}, interval({ start, end })));
  }

  /** @param {boolean} fits */
  judge(fits) {
    this._node.classList.toggle("yes", fits);
    this._node.classList.toggle("no", !fits);
  }

  remove() {
    this._node.remove();
  }
}
