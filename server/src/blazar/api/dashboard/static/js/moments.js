/** Moments: milliseconds since 1970 inside the page, UTC on the wire, the viewer's own zone on the screen. */

import { element } from "./element.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });

/**
 * @param {string} wire such as `2050-01-01T10:00:00.000000`, in UTC
 * @returns {number}
 */
export function parsed(wire) {
  return Date.parse(`${wire.replace(" ", "T").slice(0, 23)}Z`);
}

/**
 * @param {number} moment
 * @returns {string} as requests have it: `2050-01-01 10:00`, in UTC
 */
export function wire(moment) {
  return new Date(moment).toISOString().slice(0, 16).replace("T", " ");
}

/** @param {number} moment */
export function shown(moment) {
  return MOMENT.format(moment);
}

/** @param {number} moment */
export function clock(moment) {
  return CLOCK.format(moment);
}

/** @param {number} moment */
export function date(moment) {
  return DATE.format(moment);
}

/**
 * @param {string} name
 * @param {number} moment
 * @param {boolean} [disabled]
 * @returns {HTMLInputElement}
 */
export function momentField(name, moment, disabled = false) {
  return element("input", { name, type: "datetime-local", required: true, disabled, value: fieldValue(moment) });
}

/**
 * @param {number} moment
 * @returns {string} the value of a datetime-local field
 */
function fieldValue(moment) {
  const local = new Date(moment);
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const day = `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())}`;
  return `${day}T${two(local.getHours())}:${two(local.getMinutes())}`;
}

/**
 * @param {number} milliseconds
 * @returns {string} such as "2 days 3 hours"
 */
export function duration(milliseconds) {
  let minutes = Math.round(milliseconds / MINUTE);
  const parts = [];
  for (const [unit, length] of /** @type {[string, number][]} */ ([["day", 1440], ["hour", 60], ["minute", 1]])) {
    const count = Math.floor(minutes / length);
    minutes -= count * length;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  return parts.slice(0, 2).join(" ") || "0 minutes";
}
