/** The fields that say how a new lease is made again and again, as a rule of RFC 5545. */

import { choice, element, labelled } from "./element.js";
import { DAY, later, localDay, weekdayName } from "./moments.js";
import { text } from "./texts.js";

/** The days of the week as rules call them, as `Date` counts them. */
const WEEKDAYS = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const FROM_MONDAY = [1, 2, 3, 4, 5, 6, 0];
const MOST = 500;
const LARGEST_INTERVAL = 1000;
const FREQUENCIES = { never: text("repeatNever"), DAILY: text("repeatDaily"), WEEKLY: text("repeatWeekly"), MONTHLY: text("repeatMonthly") };
const INTERVALS = { DAILY: text("everyDays"), WEEKLY: text("everyWeeks"), MONTHLY: text("everyMonths") };

/** @typedef {{ rule: string, time_zone: string }} Recurrence */
/** @typedef {{ recurrence: Recurrence, on_conflict: string }} Repetition what a series has more than a lease */

export class RecurrenceFields {
  /** @param {() => number} start of the first lease, as the form says @param {() => void} changed */
  constructor(start, changed) {
    this._start = start;
    this._zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    const show = () => {
      this._show();
      changed();
    };
    this._frequency = choice(FREQUENCIES, "never", show, { name: "frequency" });
    const interval = { name: "interval", type: "number", min: 1, max: LARGEST_INTERVAL, step: 1, value: 1, required: true };
    this._interval = element("input", interval);
    this._every = labelled(INTERVALS.DAILY, this._interval);
    this._weekdays = FROM_MONDAY.map((number) => element("input", { type: "checkbox", name: "weekday", value: number }));
    const boxes = this._weekdays.map((box) => element("label", { class: "box" }, box, weekdayName(Number(box.value))));
    this._days = element("fieldset", {}, element("legend", {}, text("onDays")), ...boxes);
    this._ending = choice({ count: text("afterCount"), until: text("onDay") }, "count", show, { name: "ending" });
    this._count = element("input", { name: "count", type: "number", min: 1, max: MOST, step: 1, value: 10 });
    this._until = element("input", { name: "until", type: "date" });
    this._counted = labelled(text("howOften"), this._count);
    this._dated = labelled(text("lastDay"), this._until);
    this._conflict = choice({ refuse: text("allOrNone"), skip: text("thoseThatFit") }, "refuse", changed, { name: "on_conflict" });
    this._more = element(
      "div",
      { class: "repeats" },
      element("div", { class: "fields" }, this._every),
      this._days,
      element("div", { class: "fields" }, labelled(text("endsOf"), this._ending), this._counted, this._dated),
      labelled(text("whereNotAllFit"), this._conflict),
      element("p", { class: "quiet" }, text("timesOfZone", { zone: this._zone })),
    );
    this.nodes = [labelled(text("repeat"), this._frequency), this._more];
    this._show();
  }

  get isChosen() {
    return this._frequency.value !== "never";
  }

  /** Whether the fields make a rule. */
  get isComplete() {
    return [this._interval, this._count, this._until].every((field) => field.checkValidity());
  }

  /** @returns {Repetition} */
  repetition() {
    const days = this._chosenDays().map((number) => WEEKDAYS[number]);
    const every = Number(this._interval.value) > 1 ? [`INTERVAL=${Number(this._interval.value)}`] : [];
    const ends = this._isCounted ? `COUNT=${this._count.value}` : `UNTIL=${this._until.value.replaceAll("-", "")}`;
    const on = days.length ? [`BYDAY=${days.join(",")}`] : [];
    const rule = [`FREQ=${this._frequency.value}`, ...every, ...on, ends].join(";");
    return { recurrence: { rule, time_zone: this._zone }, on_conflict: this._conflict.value };
  }

  get _isCounted() {
    return this._ending.value === "count";
  }

  /** @returns {number[]} none where the rule takes the day of the start */
  _chosenDays() {
    if (this._frequency.value !== "WEEKLY") return [];
    return this._weekdays.filter((box) => box.checked).map((box) => Number(box.value));
  }

  /** Show the fields that count, and have only these required. */
  _show() {
    const start = this._start();
    this._more.hidden = !this.isChosen;
    this._days.hidden = this._frequency.value !== "WEEKLY";
    this._counted.hidden = !this._isCounted;
    this._dated.hidden = this._isCounted;
    const label = /** @type {HTMLElement} */ (this._every.firstElementChild);
    label.textContent = INTERVALS[/** @type {keyof typeof INTERVALS} */ (this._frequency.value)] ?? INTERVALS.DAILY;
    for (const field of [this._interval, this._count, this._until]) field.disabled = !this.isChosen;
    this._count.disabled ||= !this._isCounted;
    this._until.disabled ||= this._isCounted;
    this._count.required = this._until.required = true;
    if (Number.isNaN(start)) return;
    this._until.min = localDay(start);
    this._until.value ||= localDay(later(start, 28 * DAY));
    if (!this._days.hidden && !this._chosenDays().length) {
      for (const box of this._weekdays) box.checked = Number(box.value) === new Date(start).getDay();
    }
  }
}
