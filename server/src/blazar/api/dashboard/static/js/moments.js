/** Moments: milliseconds since 1970 inside the page, UTC on the wire, the viewer's own zone on the screen. */

import { element } from "./element.js";
import { text } from "./texts.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short", timeZone: "UTC" });
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

/** @param {number} number of the day of a week, as `Date` counts: 0 is Sunday @returns {string} */
export function weekdayName(number) {
  return WEEKDAY.format(Date.UTC(2023, 0, 1 + number));
}

/** @param {number} moment @returns {string} the day, as date fields have it: `2050-01-01` */
export function localDay(moment) {
  return fieldValue(moment).slice(0, 10);
}

/**
 * @param {string} name
 * @param {number} moment
 * @param {boolean} [disabled]
 * @returns {HTMLInputElement}
 */
export function momentField(name, moment, disabled = false) {
  const check = () => field.setCustomValidity(isSkipped(field) ? text("noSuchTime") : "");
  /** @type {HTMLInputElement} */
  const field = element("input", {
    name,
    type: "datetime-local",
    required: true,
    disabled,
    value: fieldValue(moment),
    "data-moment": moment,
    on: { input: check },
  });
  return field;
}

/**
 * @param {HTMLInputElement} field
 * @returns {number} what it says; of a time that is there twice the one that it was made with, or else the first. NaN
 *   where it says none
 */
export function momentOf(field) {
  const first = Number(field.dataset.moment);
  return field.value === fieldValue(first) ? first : new Date(field.value).getTime();
}

/** Whether the clocks go forward over what a field says. @param {HTMLInputElement} field */
function isSkipped(field) {
  const moment = momentOf(field);
  return !Number.isNaN(moment) && !field.value.startsWith(fieldValue(moment));
}

/** What is wrong with the dates of a form, or unclear; nothing mostly. @param {...HTMLInputElement} fields @returns {string} */
export function doubtOf(...fields) {
  const skipped = fields.find(isSkipped);
  if (skipped) return text("noSuchTime");
  const twice = fields.find((field) => !field.disabled && isTwice(momentOf(field)));
  return twice ? text("twice", { time: exact(momentOf(twice)) }) : "";
}

/** Whether the clocks show the same time at another moment as well. @param {number} moment */
function isTwice(moment) {
  if (Number.isNaN(moment)) return false;
  return [HOUR, HOUR / 2].some((by) => [by, -by].some((other) => fieldValue(moment + other) === fieldValue(moment)));
}

/** @param {number} moment @returns {string} with the zone */
function exact(moment) {
  return new Date(moment).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
}

/**
 * @param {number} moment
 * @param {number} by milliseconds; whole days are days of the calendar, which the change of clocks makes longer or shorter
 * @returns {number}
 */
export function later(moment, by) {
  if (by % DAY !== 0) return moment + by;
  const found = new Date(moment);
  found.setDate(found.getDate() + by / DAY);
  return found.getTime();
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
