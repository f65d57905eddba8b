/** The dates of a lease, changed: by a form with a dry run, or as they were drawn; and put back. */

import { openDialog } from "./dialog.js";
import { DryRun } from "./dry-run.js";
import { element, labelled } from "./element.js";
import { doubtOf, momentField, momentOf, parsed, shown, wire } from "./moments.js";
import { offers } from "./offers.js";
import { text } from "./texts.js";

/** @typedef {import("./drawing.js").Dates} Dates */
/** @typedef {{ id: string, name: string, status: string } & Dates} DatedLease */
/** @typedef {(said: string, undo?: () => Promise<unknown>) => void} Changed What was done, and how to undo it; that may say what came of it */

/**
 * @param {DatedLease} lease
 * @param {Dates} dates
 * @returns {Record<string, string>} the body of the update, with what differs
 */
export function changeOf(lease, dates) {
  return {
    ...(dates.start === lease.start ? {} : { start_date: wire(dates.start) }),
    ...(dates.end === lease.end ? {} : { end_date: wire(dates.end) }),
  };
}

/**
 * Change the dates; where that is refused, open the form, which tells why, and what would do.
 * @param {import("./api.js").Api} api
 * @param {DatedLease} lease
 * @param {Dates} dates
 * @param {Changed} changed
 */
export async function changeDates(api, lease, dates, changed) {
  await api.put(`leases/${lease.id}`, changeOf(lease, dates)).then(
    (body) => changed(...done(api, lease, body.lease)),
    (refusal) => openDates(api, lease, dates, changed, refusal),
  );
}

/**
 * @param {import("./api.js").Api} api
 * @param {DatedLease} before
 * @param {any} after
 * @returns {[string, () => Promise<unknown>]} what to say, and how to put the lease back
 */
function done(api, before, after) {
  const now = { ...before, start: parsed(after.start_date), end: parsed(after.end_date) };
  const said = text("datesChanged", { name: after.name, start: shown(now.start), end: shown(now.end) });
  return [said, () => api.put(`leases/${before.id}`, changeOf(now, before))];
}

/**
 * @param {import("./api.js").Api} api
 * @param {DatedLease} lease
 * @param {Dates} dates to begin with
 * @param {Changed} changed
 * @param {unknown} [refusal] of these dates
 */
export function openDates(api, lease, dates, changed, refusal) {
  const from = momentField("from", dates.start, lease.status !== "PENDING");
  const to = momentField("to", dates.end);
  const told = element("p", { class: "told", role: "status" });
  const instead = element("div", { class: "offers" });
  const wanted = () => ({
    start: from.disabled ? lease.start : momentOf(from),
    end: momentOf(to),
  });
  const put = (/** @type {Record<string, unknown>} */ body) =>
    api.put(`leases/${lease.id}`, body).then(({ lease: after }) => {
      dialog.close();
      changed(...done(api, lease, after));
    }, tell);

  /** @param {unknown} why null where it fits */
  function tell(why) {
    const fits = why ? text("fitsNot", { message: why instanceof Error ? why.message : String(why) }) : text("fits");
    told.textContent = [fits, doubtOf(from, to)].filter(Boolean).join(" ");
    told.className = why ? "told no" : "told yes";
    instead.replaceChildren(...offers(why, put));
  }

  const dryRun = new DryRun(tell);
  const ask = () => {
    const { start, end } = wanted();
    if (Number.isNaN(start) || Number.isNaN(end) || !from.checkValidity() || !to.checkValidity()) {
      dryRun.forget();
      told.textContent = doubtOf(from, to) || text("datesMissing");
      return;
    }
    dryRun.ask(() => api.put(`leases/${lease.id}`, { ...changeOf(lease, wanted()), dry_run: true }));
  };
  const form = element(
    "form",
    {
      class: "dates",
      on: {
        input: ask,
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          put(changeOf(lease, wanted()));
        },
      },
    },
    element("div", { class: "fields" }, labelled(text("from"), from), labelled(text("to"), to)),
    told,
    instead,
    element("footer", {}, element("button", { type: "submit", class: "primary" }, text("changeDates"))),
  );
  const dialog = openDialog(text("datesOf", { name: lease.name }), form);
  if (refusal) tell(refusal);
}
