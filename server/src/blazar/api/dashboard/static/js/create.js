/** The form that makes a lease: dates first; while it is filled in, a dry run tells whether it fits. */

import { openDialog } from "./dialog.js";
import { DryRun } from "./dry-run.js";
import { button, choice, element, labelled } from "./element.js";
import { HOUR, MINUTE, doubtOf, momentField, momentOf, parsed, shown, wire } from "./moments.js";
import { openOffer } from "./held.js";
import { messageOf } from "./lease.js";
import { openMaintenance } from "./maintenance.js";
import { kindFields, kindSchemas } from "./fields.js";
import { offers } from "./offers.js";
import { RecurrenceFields } from "./recurrence.js";
import { planned, tellMade } from "./series.js";
import { kindName, text } from "./texts.js";

const SHORTAGE = 409;
/** A small server. */
const SIZE = { amount: 1, vcpus: 1, memory_mb: 1024, disk_gb: 10 };

const FIRST = "physical:host";

/** @typedef {{ start: number, end: number, requirement?: string, host?: string }} Wish `host` is one that the user may take away */

/** @param {import("./scale.js").Scale} scale @returns {Wish} two hours soon, or soon after the start of what is on the screen */
export function soonIn(scale) {
  const start = Math.ceil((Math.max(scale.start, Date.now()) + 5 * MINUTE) / HOUR) * HOUR;
  return { start, end: start + 2 * HOUR };
}

/** @param {Wish} wish @returns {Record<string, any>} the body of a lease of one host */
export function hostLease({ start, end, requirement = "" }) {
  return {
    name: text("newLease"),
    start_date: wire(start),
    end_date: wire(end),
    reservations: [
      { resource_type: "physical:host", min: 1, max: 1, hypervisor_properties: "", resource_properties: requirement },
    ],
    events: [],
  };
}

/**
 * @param {import("./api.js").Api} api
 * @param {Wish} wish
 * @param {import("./dates.js").Changed} changed
 */
export async function openCreation(api, wish, changed) {
  const schemas = await kindSchemas(api);
  const kinds = Object.keys(schemas);
  const from = momentField("from", wish.start);
  const to = momentField("to", wish.end);
  const name = element("input", { name: "name", required: true, maxlength: 80 });
  const given = { min: 1, max: 1, resource_properties: wish.requirement ?? "", ...SIZE };
  const known = Object.fromEntries(kinds.map((each) => [each, kindFields(each, schemas[each], given, ask)]));
  let kind = kinds.includes(FIRST) ? FIRST : kinds[0];
  const fields = element("div", { class: "fields" }, ...known[kind].nodes);
  const chooser = choice(Object.fromEntries(kinds.map((each) => [each, kindName([each])])), kind, (chosen) => {
    kind = chosen;
    fields.replaceChildren(...known[kind].nodes);
    ask();
  });
  const told = element("p", { class: "told", role: "status" });
  const instead = element("div", { class: "offers" });
  const dryRun = new DryRun(tell);
  const repeats = new RecurrenceFields(() => momentOf(from), ask);

  const body = () => ({
    name: name.value || text("newLease"),
    start_date: wire(momentOf(from)),
    end_date: wire(momentOf(to)),
    reservations: [known[kind].reservation()],
    events: [],
  });

  function seriesBody() {
    const { events, ...lease } = body();
    return { ...lease, ...repeats.repetition() };
  }

  function ask() {
    holds.hidden = repeats.isChosen;
    const hasDates = from.checkValidity() && to.checkValidity();
    if (hasDates && repeats.isComplete) {
      const asked = repeats.isChosen ? seriesBody() : body();
      dryRun.ask(() => api.post(repeats.isChosen ? "series" : "leases", { ...asked, dry_run: true }));
    } else {
      dryRun.forget();
      told.textContent = doubtOf(from, to) || text(hasDates ? "repeatMissing" : "datesMissing");
      instead.replaceChildren();
    }
  }

  /** @param {any} refusal null where it is answered @param {any} [answer] */
  function tell(refusal, answer) {
    const series = answer?.series;
    if (series) {
      const { said, missing } = planned(series);
      tellOf(!series.granted, said, missing);
    } else {
      const found = repeats.isChosen ? [] : offers(refusal, (lease) => make({ ...body(), ...lease }));
      tellOf(refusal, text(refusal ? "fitsNot" : "fits", { message: refusal ? messageOf(refusal) : "" }), found);
    }
    wait.hidden = refusal?.status !== SHORTAGE || repeats.isChosen;
  }

  /** @param {boolean} isRefused @param {string} said @param {Node[]} [more] */
  function tellOf(isRefused, said, more = []) {
    told.textContent = [said, doubtOf(from, to)].filter(Boolean).join(" ");
    told.className = isRefused ? "told no" : "told yes";
    instead.replaceChildren(...more);
  }

  /** Make all leases that recur. */
  async function makeSeries() {
    try {
      const { series } = await api.post("series", seriesBody());
      dialog.close();
      tellMade(api, series, changed);
    } catch (refusal) {
      tell(refusal);
    }
  }

  /** Take the host away in this time instead. */
  function maintain() {
    dialog.close();
    openMaintenance(api, { start: momentOf(from), end: momentOf(to), hosts: wish.host ?? "" }, changed);
  }

  /** Hold it for a while; claiming it asks for its name. */
  async function hold() {
    const { start_date, end_date, reservations } = body();
    try {
      const { offer } = await api.post("offers", { start_date, end_date, reservations });
      dialog.close();
      changed(text("isHeld", { time: shown(parsed(offer.expires_at)) }));
      openOffer(api, offer, changed, name.value);
    } catch (refusal) {
      tell(refusal);
    }
  }

  /** @param {any} wanted */
  async function make(wanted) {
    try {
      const { lease } = await api.post("leases", wanted);
      dialog.close();
      const said = lease.waiting
        ? text("waitsInLine", { name: lease.name, position: lease.waiting.position })
        : text("created", { name: lease.name });
      changed(said, () => api.delete(`leases/${lease.id}`));
    } catch (refusal) {
      tell(refusal);
    }
  }

  const holds = button(text("hold"), hold, { title: text("holdMeans") });
  const wait = button(text("waitInLine"), () => {
    const wanted = body();
    make({ ...wanted, on_shortage: { wait_until: wanted.start_date } });
  }, { hidden: true, title: text("waitsUntilStart") });
  const form = element(
    "form",
    {
      class: "create",
      on: {
        input: ask,
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          if (repeats.isChosen) makeSeries();
          else make(body());
        },
      },
    },
    element("div", { class: "fields" }, labelled(text("from"), from), labelled(text("to"), to)),
    element("div", { class: "fields" }, labelled(text("name"), name), labelled(text("kind"), chooser)),
    fields,
    ...repeats.nodes,
    told,
    instead,
    element(
      "footer",
      { class: "actions" },
      element("button", { type: "submit", class: "primary" }, text("create")),
      holds,
      wait,
      wish.host && button(text("maintenanceInstead"), maintain),
    ),
  );
  const dialog = openDialog(text("newLease"), form);
  ask();
}
