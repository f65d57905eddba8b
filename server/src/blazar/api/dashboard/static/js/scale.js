/** The time scale: which time is on the screen, and where the ticks of its axis are. */

import { DAY, HOUR, MINUTE } from "./moments.js";

/** The spans to choose from. @type {[import("./texts.js").Key, number][]} */
export const SPANS = [
  ["hour", HOUR],
  ["sixHours", 6 * HOUR],
  ["day", DAY],
  ["threeDays", 3 * DAY],
  ["week", 7 * DAY],
  ["fourWeeks", 28 * DAY],
  ["quarter", 91 * DAY],
  ["year", 365 * DAY],
  ["twoYears", 730 * DAY],
];
const SHORTEST = SPANS[0][1];
const LONGEST = SPANS[SPANS.length - 1][1];

/**
 * Steps of ticks: their length, the unit of the calendar that they count, and how a tick is written. A tick
 * that begins a larger unit is written by `major`.
 * @type {[number, "minute" | "hour" | "date" | "month", number, Intl.DateTimeFormatOptions, Intl.DateTimeFormatOptions][]}
 */
const STEPS = [
  [10 * MINUTE, "minute", 10, { timeStyle: "short" }, { weekday: "short", day: "numeric", month: "short" }],
  [HOUR, "hour", 1, { timeStyle: "short" }, { weekday: "short", day: "numeric", month: "short" }],
  [3 * HOUR, "hour", 3, { timeStyle: "short" }, { weekday: "short", day: "numeric", month: "short" }],
  [6 * HOUR, "hour", 6, { timeStyle: "short" }, { weekday: "short", day: "numeric", month: "short" }],
  [DAY, "date", 1, { weekday: "short", day: "numeric" }, { day: "numeric", month: "short" }],
  [7 * DAY, "date", 7, { day: "numeric", month: "short" }, { day: "numeric", month: "short" }],
  [30 * DAY, "month", 1, { month: "short" }, { month: "short", year: "numeric" }],
  [91 * DAY, "month", 3, { month: "short", year: "numeric" }, { month: "short", year: "numeric" }],
];
const NARROWEST = 74;

/** What dates are rounded to where they are drawn. */
const ROUND = [5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR, DAY];
const FINEST = 6;

/** @typedef {{ at: number, text: string, isMajor: boolean }} Tick */

export class Scale {
  /**
   * @param {number} start
   * @param {number} span
   */
  constructor(start, span) {
    this.start = start;
    this.span = Math.min(Math.max(span, SHORTEST), LONGEST);
  }

  get end() {
    return this.start + this.span;
  }

  /** @param {number} moment @returns {number} its place, 0 at the start and 1 at the end */
  place(moment) {
    return (moment - this.start) / this.span;
  }

  /** @param {number} place @returns {number} */
  moment(place) {
    return this.start + place * this.span;
  }

  /** What stays where it is when the span changes: now where it is in sight, else the middle. */
  get anchor() {
    const now = this.place(Date.now());
    return now >= 0 && now <= 1 ? now : 0.5;
  }

  /** @param {number} part of the span @returns {Scale} */
  moved(part) {
    return new Scale(this.start + part * this.span, this.span);
  }

  /**
   * @param {number} span
   * @param {number} [place] that keeps its moment
   * @returns {Scale}
   */
  zoomed(span, place = this.anchor) {
    const bounded = Math.min(Math.max(span, SHORTEST), LONGEST);
    return new Scale(this.moment(place) - place * bounded, bounded);
  }

  /** @param {1 | -1} step to a longer or a shorter span @param {number} [place] @returns {Scale} */
  stepped(step, place) {
    const lengths = SPANS.map(([, length]) => length);
    const next = step > 0
      ? lengths.find((each) => each > this.span * 1.01) ?? LONGEST
      : [...lengths].reverse().find((each) => each < this.span * 0.99) ?? SHORTEST;
    return this.zoomed(next, place);
  }

  /** @param {number} width in pixels @returns {number} the step of what is drawn: some pixels wide */
  step(width) {
    const least = (this.span * FINEST) / Math.max(width, 1);
    return ROUND.find((each) => each >= least) ?? DAY;
  }

  /**
   * The ticks of an axis of this width, at round moments of the viewer's zone, whatever its summer time does.
   * @param {number} width in pixels
   * @returns {Tick[]}
   */
  ticks(width) {
    const least = (this.span * NARROWEST) / Math.max(width, 1);
    const [, unit, count, minor, major] = STEPS.find(([length]) => length >= least) ?? STEPS[STEPS.length - 1];
    const names = [new Intl.DateTimeFormat(undefined, minor), new Intl.DateTimeFormat(undefined, major)];
    const found = [];
    for (let tick = first(this.start, unit, count); tick.getTime() < this.end; tick = next(tick, unit, count)) {
      const isMajor = begins(tick, unit);
      if (tick.getTime() >= this.start) {
        found.push({ at: tick.getTime(), text: names[isMajor ? 1 : 0].format(tick), isMajor });
      }
    }
    return found;
  }
}

/** @param {number} start @param {string} unit @param {number} count */
function first(start, unit, count) {
  const found = new Date(start);
  found.setSeconds(0, 0);
  if (unit === "minute") found.setMinutes(Math.floor(found.getMinutes() / count) * count);
  if (unit === "hour") found.setHours(Math.floor(found.getHours() / count) * count, 0);
  if (unit === "date") {
    found.setHours(0, 0);
    // Weeks begin with Monday.
    if (count === 7) found.setDate(found.getDate() - ((found.getDay() + 6) % 7));
  }
  if (unit === "month") {
    found.setHours(0, 0);
    found.setMonth(Math.floor(found.getMonth() / count) * count, 1);
  }
  return found;
}

/** @param {Date} tick @param {string} unit @param {number} count */
function next(tick, unit, count) {
  const found = new Date(tick);
  if (unit === "minute") return new Date(tick.getTime() + count * MINUTE);
  if (unit === "hour") {
    const straight = new Date(tick.getTime() + count * HOUR);
    if (straight.getHours() % count === 0 && straight.getMinutes() === 0) return straight;
    // The clocks change in between.
    found.setHours(Math.floor(found.getHours() / count) * count + count, 0);
    return found > tick ? found : straight;
  }
  // Where the clocks change at midnight, a day begins later; the next one does not.
  if (unit === "date") found.setDate(found.getDate() + count);
  if (unit === "month") found.setMonth(found.getMonth() + count);
  found.setHours(0, 0);
  return found;
}

/** @param {Date} tick @param {string} unit @returns {boolean} whether a day, a month or a year begins */
function begins(tick, unit) {
  if (unit === "date") return tick.getDate() === 1;
  if (unit === "month") return tick.getMonth() === 0;
  return new Date(tick.getTime() - MINUTE).getDate() !== tick.getDate();
}
