/** The page of a lease: what was asked for, what it got and why, its events, and the commands with its id. */

import { openDates } from "./dates.js";
import { openDialog } from "./dialog.js";
import { button, choice, element, labelled } from "./element.js";
import { DAY, HOUR, duration, parsed, shown, wire } from "./moments.js";
import { nameOf } from "./timeline.js";
import { eventName, kindName, statusName, text } from "./texts.js";

const MOST_NAMES = 20;
const FINAL = ["TERMINATED", "DELETING", "TERMINATING"];
const OWN = [
  "id", "lease_id", "resource_id", "resource_type", "status", "status_reason", "missing_resources",
  "resources_changed", "created_at", "updated_at",
];

/**
 * @param {import("./api.js").Api} api
 * @param {import("./rows.js").Bar} bar
 * @param {import("./dates.js").Changed} changed
 */
export async function openLease(api, bar, changed) {
  if (bar.type !== "lease" || !bar.id) {
    const when = element("p", {}, `${shown(bar.start)} – ${shown(bar.end)}`);
    const more = bar.type === "maintenance" ? null : element("p", { class: "quiet" }, text("notYours"));
    openDialog(nameOf(bar), when, more);
    return;
  }
  const content = element("div", { class: "lease" }, text("loading"));
  const dialog = openDialog(bar.name, content);
  /** @type {Close} */
  const close = (...said) => {
    dialog.close();
    if (said.length) changed(...said);
  };
  try {
    const { lease } = await api.get(`leases/${bar.id}`);
    content.replaceChildren(...parts(api, lease, close, changed));
    await tellResources(api, lease, content);
  } catch (refusal) {
    content.replaceChildren(element("p", { role: "alert" }, messageOf(refusal)));
  }
}

/** @param {unknown} refusal @returns {string} */
export function messageOf(refusal) {
  return refusal instanceof Error ? refusal.message : String(refusal);
}

/** @typedef {(...said: [] | Parameters<import("./dates.js").Changed>) => void} Close */

/** @param {import("./api.js").Api} api @param {any} lease @param {Close} close @param {import("./dates.js").Changed} changed */
function parts(api, lease, close, changed) {
  const found = [summary(lease), ...lease.reservations.map(reservation)];
  if (lease.events.length) found.push(section("events", events(lease)));
  found.push(section("commands", ...commands(lease)));
  if (!FINAL.includes(lease.status)) found.push(actions(api, lease, close, changed));
  return found;
}

/** @param {import("./texts.js").Key} heading @param {...Node} content */
function section(heading, ...content) {
  return element("section", {}, element("h3", {}, text(heading)), ...content);
}

/** @param {any} lease */
function summary(lease) {
  const start = parsed(lease.start_date);
  const end = parsed(lease.end_date);
  return element(
    "div",
    { class: "summary" },
    element("span", { class: `chip ${lease.status.toLowerCase()}` }, statusName(lease.status)),
    element("span", {}, `${shown(start)} – ${shown(end)}`),
    element("span", { class: "quiet" }, duration(end - start)),
    lease.status_reason && element("p", {}, lease.status_reason),
    lease.degraded && element("p", { class: "warning" }, text("degraded")),
    lease.waiting && element("p", {}, text("position", { position: lease.waiting.position })),
  );
}

/** @param {any} told a reservation */
function reservation(told) {
  const asked = Object.entries(told).filter(([name, value]) => !OWN.includes(name) && value !== "" && value !== null);
  const units = asked.map(([name, value]) => [
    element("dt", {}, name.replaceAll("_", " ")),
    element("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value)),
  ]);
  const got = [statusName(told.status), told.status_reason].filter(Boolean).join(": ");
  return element(
    "section",
    {},
    element("h3", {}, `${text("asked")}: ${kindName([told.resource_type])}`),
    element(
      "dl",
      {},
      ...units.flat(),
      element("dt", {}, text("got")),
      element("dd", { "data-reservation": told.id }, got),
      element("dt", {}, text("id")),
      element("dd", { class: "code" }, told.id),
    ),
  );
}

/**
 * Name the hosts of each reservation, to those who may see them.
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {HTMLElement} content
 */
async function tellResources(api, lease, content) {
  for (const { id } of lease.reservations) {
    const found = await api.get("os-hosts/allocations", { reservation_id: id, limit: MOST_NAMES }).catch(() => null);
    const hosts = (found?.allocations ?? []).filter((/** @type {any} */ each) => each.reservations.length);
    const names = await Promise.all(
      hosts.slice(0, MOST_NAMES).map((/** @type {any} */ each) =>
        api.get(`os-hosts/${each.resource_id}`).then(({ host }) => host.hypervisor_hostname, () => each.resource_id),
      ),
    );
    const got = content.querySelector(`[data-reservation="${CSS.escape(id)}"]`);
    if (names.length) got?.append(` (${names.join(", ")}${hosts.length > MOST_NAMES ? " …" : ""})`);
  }
}

/** @param {any} lease */
function events(lease) {
  const rows = lease.events.map((/** @type {any} */ event) =>
    element(
      "tr",
      {},
      element("td", {}, eventName(event.event_type)),
      element("td", {}, shown(parsed(event.time))),
      element("td", {}, statusName(event.status)),
    ),
  );
  const heads = /** @type {const} */ (["event", "time", "status"]).map((key) => element("th", { scope: "col" }, text(key)));
  return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
}

/** How servers get into a reservation, by the words of the kind's own documentation. @param {any} told */
function useOf(told) {
  if (told.resource_type === "physical:host") {
    return `openstack server create --hint reservation=${told.id} --flavor FLAVOR --image IMAGE --network NETWORK NAME`;
  }
  if (["virtual:instance", "flavor:instance"].includes(told.resource_type)) {
    const group = told.server_group_id ? ` --hint group=${told.server_group_id}` : "";
    return `openstack server create --flavor ${told.id}${group} --image IMAGE --network NETWORK NAME`;
  }
  return null;
}

/** @param {any} lease @returns {Node[]} */
function commands(lease) {
  const uses = lease.reservations.map(useOf).filter(Boolean);
  const lines = [
    ...uses,
    `openstack reservation lease show ${lease.id}`,
    `openstack reservation lease set --prolong-for 1h ${lease.id}`,
    `openstack reservation lease delete ${lease.id}`,
  ];
  return lines.map((line) => {
    const copy = button(text("copy"), async () => {
      await navigator.clipboard?.writeText(line);
      copy.textContent = text("copied");
    }, { class: "plain" });
    return element("div", { class: "command" }, element("code", {}, line), copy);
  });
}

/** @param {import("./api.js").Api} api @param {any} lease @param {Close} close @param {import("./dates.js").Changed} changed */
function actions(api, lease, close, changed) {
  const told = element("p", { class: "told", role: "status" });
  let by = HOUR;
  const end = () => parsed(lease.end_date) + by;
  const change = (/** @type {boolean} */ isDry) =>
    api.put(`leases/${lease.id}`, { end_date: wire(end()), ...(isDry ? { dry_run: true } : {}) });
  const ask = () =>
    change(true).then(
      () => (told.textContent = text("wouldFit", { end: shown(end()) })),
      (refusal) => (told.textContent = messageOf(refusal)),
    );
  const lengths = [HOUR, DAY, 7 * DAY];
  const options = Object.fromEntries(lengths.map((length) => [String(length), duration(length)]));
  const chooser = choice(options, String(by), (value) => {
    by = Number(value);
    ask();
  });
  const extend = button(text("extend"), () =>
    change(false).then(
      () => close(text("extended", { end: shown(end()) }), () => api.put(`leases/${lease.id}`, { end_date: wire(parsed(lease.end_date)) })),
      (refusal) => (told.textContent = messageOf(refusal)),
    ),
  );
  const dates = button(text("changeDates"), () => {
    close();
    const known = { start: parsed(lease.start_date), end: parsed(lease.end_date) };
    openDates(api, { ...known, id: lease.id, name: lease.name, status: lease.status }, known, changed);
  });
  const cancel = button(text("cancelLease"), () => bar.replaceWith(confirmation(api, lease, bar, close)), { class: "danger" });
  const bar = element("div", { class: "actions" }, labelled(text("extendBy"), chooser), extend, dates, cancel);
  return element("footer", {}, bar, told);
}

/**
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {Element} bar to show again
 * @param {Close} close
 */
function confirmation(api, lease, bar, close) {
  const told = element("span", { role: "alert" }, text("sureToCancel"));
  const yes = button(text("yesCancel"), () =>
    api.delete(`leases/${lease.id}`).then(
      () => close(text("cancelled")),
      (refusal) => (told.textContent = messageOf(refusal)),
    ), { class: "danger" });
  const keep = button(text("keep"), () => asked.replaceWith(bar));
  const asked = element("div", { class: "actions" }, told, yes, keep);
  queueMicrotask(() => keep.focus());
  return asked;
}

