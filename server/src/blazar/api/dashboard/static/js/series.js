/** A series: the leases that recur by a rule, what has become of each, and what is done to all of them. */

import { openDialog } from "./dialog.js";
import { button, element, table } from "./element.js";
import { kindSchemas } from "./fields.js";
import { messageOf, section, wishOf } from "./lease.js";
import { MINUTE, parsed, shown, wire } from "./moments.js";
import { toLease } from "./routes.js";
import { statusName, text } from "./texts.js";

const NOT_STARTED = ["PENDING", "WAITING"];
const MOST_TOLD = 5;
const MOST_LEASES = 1000;

/** @typedef {{ date: string, start_date: string, end_date: string, lease_id: string | null, status: string | null, reason: string | null }} Occurrence */
/** @typedef {{ id: string, name: string, recurrence: { rule: string, time_zone: string, except: string[] }, occurrences: Occurrence[] }} Series */
/** @typedef {{ granted: boolean, occurrences: { start_date: string, granted: boolean, reason: string | null }[] }} Planned as a dry run tells it */
/** @typedef {import("./dates.js").Changed} Changed */

/**
 * Tell what was made; where not all could be had, show what was skipped and why.
 * @param {import("./api.js").Api} api
 * @param {Series} series
 * @param {Changed} changed
 */
export function tellMade(api, series, changed) {
  const made = series.occurrences.filter(({ lease_id: id }) => id);
  const counts = { name: series.name, made: made.length, all: series.occurrences.length };
  changed(text("seriesMade", counts), () => api.delete(`series/${series.id}`).then(() => text("seriesDeleted", counts)));
  if (made.length < series.occurrences.length) openDialog(text("seriesOf", counts), occurrences(series));
}

/**
 * Tell what a dry run has shown: in a sentence, and the first of those that do not fit.
 * @param {Planned} series
 * @returns {{ said: string, missing: HTMLElement[] }}
 */
export function planned(series) {
  const missing = series.occurrences.filter(({ granted }) => !granted);
  const all = series.occurrences.length;
  const counts = { fit: all - missing.length, all };
  if (!missing.length) return { said: text("allFit", counts), missing: [] };
  const said = text(!counts.fit ? "noneFits" : series.granted ? "someMade" : "noneMade", counts);
  const lines = missing.slice(0, MOST_TOLD).map(({ start_date: start, reason }) =>
    text("fitsNotOn", { day: shown(parsed(start)), message: String(reason) }));
  if (missing.length > MOST_TOLD) lines.push(text("moreOfThem", { count: missing.length - MOST_TOLD }));
  return { said, missing: [element("ul", {}, ...lines.map((line) => element("li", {}, line)))] };
}

/**
 * All leases of the series, and what is done to it and to this one.
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {Series} series
 * @param {Changed} changed
 * @returns {HTMLElement}
 */
export function seriesSection(api, lease, series, changed) {
  const told = element("p", { class: "told no", role: "status" });
  /** @param {Promise<unknown>} asked @param {string} said @param {() => Promise<unknown>} [undo] */
  const done = (asked, said, undo) =>
    asked.then(() => changed(said, undo), (refusal) => (told.textContent = messageOf(refusal)));
  const here = series.occurrences.find((each) => each.lease_id === lease.id);
  const skip = here && NOT_STARTED.includes(lease.status) && button(text("skipThis"), () => {
    const said = text("skipped", { name: series.name, day: shown(parsed(here.start_date)) });
    done(api.put(`series/${series.id}`, { except: [here.date] }), said, () => restore(api, series, here, lease.id));
  });
  const remove = button(text("deleteSeries"), () => bodyOf(api, series).catch(() => null).then((body) => bar.replaceWith(confirmation(body))), { class: "danger" });
  const bar = element("div", { class: "actions" }, skip, remove);

  /** Ask whether what has started is deleted as well. @param {Record<string, unknown> | null} body that makes the series again */
  function confirmation(body) {
    const said = text("seriesDeleted", { name: series.name });
    const undo = body ? () => makeAgain(api, body, here?.date, lease.id) : undefined;
    const all = button(text("deleteAll"), () => done(api.delete(`series/${series.id}`), said, undo), { class: "danger" });
    const ahead = button(text("deleteAhead"), () => done(api.delete(`series/${series.id}?keep_started=true`), said, undo), { class: "danger" });
    const keep = button(text("keepSeries"), () => asked.replaceWith(bar));
    const question = text(body ? "askToDeleteSeries" : "sureToDeleteSeries");
    const asked = element("div", { class: "actions" }, element("span", { role: "alert" }, question), all, ahead, keep);
    queueMicrotask(() => keep.focus());
    return asked;
  }

  return section("series", ruleOf(series), occurrences(series, here?.date), bar, told);
}

/**
 * All leases of the series of a lease that is gone, which is brought back where its time has not come.
 * @param {import("./api.js").Api} api
 * @param {string} leaseId
 * @param {Series} series
 * @param {string} day of the lease
 * @param {Changed} changed
 * @returns {HTMLElement}
 */
export function seriesOfGone(api, leaseId, series, day, changed) {
  const told = element("p", { class: "told no", role: "status" });
  const here = series.occurrences.find((each) => each.date === day && !each.status);
  const back = here && parsed(here.start_date) > Date.now() && button(text("restoreThis"), () =>
    restore(api, series, here, leaseId).then(changed, (refusal) => (told.textContent = messageOf(refusal))));
  return section("series", ruleOf(series), occurrences(series, day), element("div", { class: "actions" }, back), told);
}

/**
 * Have the lease of a day made again, and go to its page from that of the one that is gone.
 * @param {import("./api.js").Api} api
 * @param {Series} series
 * @param {Occurrence} occurrence
 * @param {string} goneId
 * @returns {Promise<string>} what is done
 */
async function restore(api, series, { date, start_date: start }, goneId) {
  const changed = await api.put(`series/${series.id}`, { restore: [date] });
  const made = changed.series.occurrences.find((/** @type {Occurrence} */ each) => each.date === date);
  if (location.hash === toLease(goneId)) location.hash = toLease(made.lease_id);
  return text("restored", { name: series.name, day: shown(parsed(start)) });
}

/**
 * The request that makes a series again as it is now. Its leases have to be alike and ahead, and the rule has to lead
 * to their dates, which a dry run tells.
 * @param {import("./api.js").Api} api
 * @param {Series} series
 * @returns {Promise<Record<string, unknown> | null>} null where there is no such request
 */
async function bodyOf(api, series) {
  const live = series.occurrences.filter(({ status }) => status);
  if (!live.length || live.some(({ status }) => status !== "PENDING")) return null;
  const [{ leases }, schemas] = await Promise.all([
    api.get("leases", { series_id: series.id, limit: MOST_LEASES }),
    kindSchemas(api),
  ]);
  const wishes = new Set(leases.map((/** @type {any} */ each) => JSON.stringify([each.name, wishOf(schemas, each)])));
  if (leases.length !== live.length || wishes.size !== 1 || leases[0].name !== series.name) return null;
  const { rule, time_zone, except } = series.recurrence;
  const gone = series.occurrences.filter(({ status }) => !status).map(({ date }) => date);
  const [first] = series.occurrences;
  const [start, end] = [parsed(first.start_date), parsed(first.end_date)];
  // Where the clocks change, a length is not the same as an end at the same time of the day.
  for (const length of [{ end_date: wire(end) }, { duration: (end - start) / MINUTE }]) {
    const body = {
      name: series.name,
      start_date: wire(start),
      ...length,
      ...wishOf(schemas, leases[0]),
      recurrence: { rule, time_zone, except: [...new Set([...except, ...gone])] },
    };
    const told = await api.post("series", { ...body, on_conflict: "skip", dry_run: true });
    if (datesOf(told.series) === datesOf({ occurrences: live })) return body;
  }
  return null;
}

/** @param {{ occurrences: { start_date: string, end_date: string }[] }} series */
function datesOf({ occurrences }) {
  return occurrences.map((each) => `${parsed(each.start_date)} ${parsed(each.end_date)}`).join();
}

/**
 * Make a series again that was deleted, and go to its lease of the day that was on the screen.
 * @param {import("./api.js").Api} api
 * @param {Record<string, unknown>} body
 * @param {string | undefined} day
 * @param {string} goneId
 * @returns {Promise<string>} what is done
 */
async function makeAgain(api, body, day, goneId) {
  const { series } = await api.post("series", body);
  const made = series.occurrences.find((/** @type {Occurrence} */ each) => each.date === day);
  if (made && location.hash === toLease(goneId)) location.hash = toLease(made.lease_id);
  return text("seriesMadeAgain", { name: series.name });
}

/** @param {Series} series */
function ruleOf({ name, recurrence: { rule, time_zone: zone } }) {
  return element("p", {}, text("seriesIs", { name, zone }), " ", element("code", {}, rule));
}

/** @param {Series} series @param {string} [here] the day of the lease that is on the screen */
function occurrences(series, here = "") {
  const rows = series.occurrences.map((each) => {
    const when = `${shown(parsed(each.start_date))} – ${shown(parsed(each.end_date))}`;
    const isThere = each.lease_id && each.status;
    const to = isThere && each.date !== here ? element("a", { href: toLease(String(each.lease_id)) }, when) : when;
    const state = isThere ? statusName(String(each.status)) : each.reason ?? text("goneByItself");
    return [to, each.date === here ? `${state.replace(/\.$/, "")}, ${text("thisOne")}` : state];
  });
  return table(["lease", "status"], rows);
}
