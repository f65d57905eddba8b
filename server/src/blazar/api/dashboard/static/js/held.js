/** What is held for the project by an offer: until when, and how it becomes a lease or is given back. */

import { openDialog } from "./dialog.js";
import { interval } from "./drawing.js";
import { button, element, labelled } from "./element.js";
import { messageOf } from "./lease.js";
import { parsed, shown } from "./moments.js";
import { kindName, text } from "./texts.js";

/** @param {any} offer @returns {string} a short name for it */
export function offerName(offer) {
  const units = offer.planned.map((/** @type {any} */ each) => text("heldUnits", { units: each.units, kind: kindName([each.resource_type]) }));
  return `${units.join(", ")}, ${shown(parsed(offer.start_date))}`;
}

/**
 * @param {import("./api.js").Api} api
 * @param {any} offer
 * @param {import("./dates.js").Changed} changed
 * @param {string} [called] what its lease is to be called
 */
export function openOffer(api, offer, changed, called = "") {
  const name = element("input", { name: "name", required: true, maxlength: 80, value: called });
  const told = element("p", { class: "told no", role: "status" });
  const refused = (/** @type {unknown} */ refusal) => (told.textContent = messageOf(refusal));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    api.post("leases", { name: name.value, offer: offer.id }).then(({ lease }) => {
      dialog.close();
      changed(text("created", { name: lease.name }), () => api.delete(`leases/${lease.id}`));
    }, refused);
  };
  const giveBack = button(text("giveBack"), () =>
    api.delete(`offers/${offer.id}`).then(() => {
      dialog.close();
      changed(text("givenBack"));
    }, refused),
  );
  const claim = element("button", { type: "submit", class: "primary" }, text("claim"));
  const dates = { start: parsed(offer.start_date), end: parsed(offer.end_date) };
  const dialog = openDialog(
    text("offer"),
    element("p", {}, offerName(offer)),
    element("p", {}, interval(dates)),
    element("p", {}, text("isHeld", { time: shown(parsed(offer.expires_at)) })),
    element("form", { class: "create", on: { submit } }, labelled(text("name"), name), told, element("footer", { class: "actions" }, claim, giveBack)),
  );
}
