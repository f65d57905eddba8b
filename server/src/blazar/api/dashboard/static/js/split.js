/** The split of a lease: a form that asks what of it becomes a lease of its own. */

import { openDialog } from "./dialog.js";
import { element, labelled } from "./element.js";
import { messageOf } from "./lease.js";
import { kindName, text } from "./texts.js";

const LONGEST_NAME = 80;

/** @param {any} lease @returns {number} how many hosts, servers or addresses it has */
function unitsOf(lease) {
  return lease.reservations.reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + (each.units ?? 0), 0);
}

/** @param {any} lease @returns {boolean} whether it is of the own project, has not begun and has more than one of something */
export function isDivisible(lease) {
  return lease.status === "PENDING" && !lease.shared_right && !lease.on_start && unitsOf(lease) > 1;
}

/** @param {any} lease one that is divisible @returns {string} the command that splits it */
export function splitCommand(lease) {
  const going = lease.reservations.length > 1 ? `--reservation ${lease.reservations.at(-1).id}` : "--units 1";
  return `openstack reservation lease split ${lease.id} NAME ${going}`;
}

/**
 * @param {import("./api.js").Api} api
 * @param {string} id of the lease
 * @param {import("./dates.js").Changed} changed
 * @param {() => void} close what has asked for it, once the lease is read
 */
export async function openSplit(api, id, changed, close) {
  const { body, tag } = await api.changed(`leases/${id}`, {});
  close();
  const lease = body.lease;
  const told = element("p", { class: "told no", role: "status" });
  const name = element("input", { name: "name", required: true, maxlength: LONGEST_NAME, value: partName(lease.name) });
  const last = lease.reservations.length - 1;
  const counts = lease.reservations.map((/** @type {any} */ each, /** @type {number} */ at) => {
    const first = at < last ? 0 : last ? each.units : 1;
    return element("input", { type: "number", name: each.id, min: 0, max: each.units, step: 1, value: first, required: true });
  });
  const fields = lease.reservations.map((/** @type {any} */ each, /** @type {number} */ at) =>
    labelled(text("unitsThatGo", { kind: kindName([each.resource_type]), units: each.units }), counts[at]));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    const going = goingOf(lease, counts.map((/** @type {HTMLInputElement} */ each) => Number(each.value)));
    if (!going) {
      told.textContent = text("someGoes");
      return;
    }
    // What was read is what is split: where an answer was lost, nothing is split twice.
    api.post(`leases/${id}/split`, { name: name.value, reservations: going }, { "If-Match": tag }).then(
      ({ lease: part }) => {
        dialog.close();
        changed(text("isSplit", { name: lease.name, part: part.name }));
      },
      (refusal) => (told.textContent = messageOf(refusal)),
    );
  };
  const dialog = openDialog(
    text("splitOf", { name: lease.name }),
    element(
      "form",
      { class: "create", on: { submit } },
      element("p", { class: "quiet" }, text("splitMeans")),
      labelled(text("partName"), name),
      element("div", { class: "fields" }, ...fields),
      told,
      element("footer", {}, element("button", { type: "submit", class: "primary" }, text("split"))),
    ),
  );
}

/**
 * @param {any} lease
 * @param {number[]} counts how many of each reservation go
 * @returns {{ id: string, units: number }[] | null} null where nothing goes, or all of it
 */
function goingOf(lease, counts) {
  const sum = counts.reduce((one, other) => one + other, 0);
  if (sum < 1 || sum >= unitsOf(lease)) return null;
  return lease.reservations
    .map((/** @type {any} */ { id }, /** @type {number} */ at) => ({ id, units: counts[at] }))
    .filter((/** @type {{ units: number }} */ { units }) => units > 0);
}

/** @param {string} name of the lease @returns {string} one for what becomes a lease of its own */
function partName(name) {
  const wanted = text("partOf", { name });
  return wanted.length > LONGEST_NAME ? name : wanted;
}
