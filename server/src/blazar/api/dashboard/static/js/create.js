/** The form that makes a lease: dates first; while it is filled in, a dry run tells whether it fits. */

import { Refused } from "./api.js";
import { openDialog } from "./dialog.js";
import { button, choice, element, labelled } from "./element.js";
import { HOUR, MINUTE, fieldValue, parsed, shown, wire } from "./moments.js";
import { messageOf } from "./lease.js";
import { text } from "./texts.js";

const PAUSE = 400;

/** @param {string} name @param {Record<string, unknown>} more @returns {HTMLInputElement} */
function input(name, more) {
  return element("input", { name, required: true, ...more });
}

/** @param {string} name @param {number} value @param {number} [least] */
function number(name, value, least = 1) {
  return input(name, { type: "number", value, min: least, step: 1 });
}

/** The fields of each kind, and the reservation that they say. */
function kinds() {
  const requirement = input("requirement", { required: false, spellcheck: "false" });
  const hosts = number("hosts", 1);
  const servers = number("servers", 1);
  const vcpus = number("vcpus", 1);
  const memory = number("memory", 1024);
  const disk = number("disk", 10, 0);
  return {
    "physical:host": {
      fields: [labelled(text("hosts"), hosts), labelled(text("requirement"), requirement)],
      reservation: () => ({
        resource_type: "physical:host",
        min: Number(hosts.value),
        max: Number(hosts.value),
        hypervisor_properties: "",
        resource_properties: requirement.value,
      }),
    },
    "virtual:instance": {
      fields: [
        labelled(text("servers"), servers),
        labelled(text("vcpus"), vcpus),
        labelled(text("memory"), memory),
        labelled(text("disk"), disk),
      ],
      reservation: () => ({
        resource_type: "virtual:instance",
        amount: Number(servers.value),
        vcpus: Number(vcpus.value),
        memory_mb: Number(memory.value),
        disk_gb: Number(disk.value),
        affinity: null,
        resource_properties: "",
      }),
    },
  };
}

/** @typedef {"physical:host" | "virtual:instance"} KnownKind */

/**
 * @param {import("./api.js").Api} api
 * @param {import("./scale.js").Scale} scale
 * @param {(said: string) => void} changed
 */
export function openCreation(api, scale, changed) {
  const soon = Math.ceil((Math.max(scale.start, Date.now()) + 5 * MINUTE) / HOUR) * HOUR;
  const from = input("from", { type: "datetime-local", value: fieldValue(soon) });
  const to = input("to", { type: "datetime-local", value: fieldValue(soon + 2 * HOUR) });
  const name = input("name", { maxlength: 80 });
  const known = kinds();
  let kind = /** @type {KnownKind} */ ("physical:host");
  const fields = element("div", { class: "fields" }, ...known[kind].fields);
  const names = { "physical:host": text("hostKind"), "virtual:instance": text("instanceKind") };
  const chooser = choice(names, kind, (chosen) => {
    kind = /** @type {KnownKind} */ (chosen);
    fields.replaceChildren(...known[kind].fields);
    ask();
  });
  const told = element("p", { class: "told", role: "status" });
  const offers = element("div", { class: "offers" });
  let waits = 0;
  let asks = 0;

  const body = () => ({
    name: name.value || text("newLease"),
    start_date: wire(new Date(from.value).getTime()),
    end_date: wire(new Date(to.value).getTime()),
    reservations: [known[kind].reservation()],
    events: [],
  });

  function ask() {
    clearTimeout(waits);
    waits = window.setTimeout(async () => {
      const asked = ++asks;
      if (!from.value || !to.value) {
        told.textContent = text("datesMissing");
        return;
      }
      const answer = await api.post("leases", { ...body(), dry_run: true }).then(() => null, (refusal) => refusal);
      if (asked === asks) tell(answer);
    }, PAUSE);
  }

  /** @param {unknown} refusal null where it fits */
  function tell(refusal) {
    told.textContent = refusal ? text("fitsNot", { message: messageOf(refusal) }) : text("fits");
    told.className = refusal ? "told no" : "told yes";
    const answers = refusal instanceof Refused ? refusal.body?.suggestions?.answers ?? [] : [];
    const heading = answers.length ? [element("h3", {}, text("insteadHeading"))] : [];
    offers.replaceChildren(...heading, ...answers.map(offer));
  }

  /** @param {any} answer @returns {Node} */
  function offer(answer) {
    const said = `${shown(parsed(answer.start_date))} – ${shown(parsed(answer.end_date))}`;
    const take = button(text("take"), () => make({ ...body(), ...answer.lease }));
    return element("div", { class: "offer" }, element("span", {}, answer.description || said), element("small", {}, said), take);
  }

  /** @param {any} wanted */
  async function make(wanted) {
    try {
      const { lease } = await api.post("leases", wanted);
      dialog.close();
      changed(text("created", { name: lease.name }));
    } catch (refusal) {
      tell(refusal);
    }
  }

  const form = element(
    "form",
    {
      class: "create",
      on: {
        input: ask,
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          make(body());
        },
      },
    },
    element("div", { class: "fields" }, labelled(text("from"), from), labelled(text("to"), to)),
    element("div", { class: "fields" }, labelled(text("name"), name), labelled(text("kind"), chooser)),
    fields,
    told,
    offers,
    element("footer", {}, element("button", { type: "submit", class: "primary" }, text("create"))),
  );
  const dialog = openDialog(text("newLease"), form);
  ask();
}
