/** A lease: what was asked for, what it got and why, its history, the commands with its id, and what is done to it. */

import { openDates } from "./dates.js";
import { openDialog } from "./dialog.js";
import { button, choice, copyable, element, labelled, table } from "./element.js";
import { kindSchemas } from "./fields.js";
import { openMaintenanceBar } from "./maintenance.js";
import { DAY, HOUR, duration, later, parsed, shown, wire } from "./moments.js";
import { leaseIn, toLease } from "./routes.js";
import { isDivisible, openSplit, splitCommand } from "./split.js";
import { eventName, kindName, mayChange, mayUse, nameOf, parameterName, rightName, startTaskName, statusName, text } from "./texts.js";

const MOST_NAMES = 20;
const FINAL = ["TERMINATED", "DELETING", "TERMINATING"];
const OWN = [
  "id", "lease_id", "resource_id", "resource_type", "status", "status_reason", "missing_resources",
  "resources_changed", "created_at", "updated_at", "units", "resources", "use", "bound",
];

/**
 * @param {import("./api.js").Api} api
 * @param {import("./rows.js").Bar} bar
 * @param {import("./dates.js").Changed} changed
 */
export async function openLease(api, bar, changed) {
  if (bar.type === "maintenance") {
    openMaintenanceBar(api, bar, changed);
    return;
  }
  if (bar.type !== "lease" || !bar.id) {
    const when = element("p", {}, `${shown(bar.start)} – ${shown(bar.end)}`);
    openDialog(nameOf(bar), when, element("p", { class: "quiet" }, text("notYours")));
    return;
  }
  const content = element("div", { class: "lease" }, text("loading"));
  const dialog = openDialog(nameOf(bar), content);
  /** @type {Close} */
  const close = (...said) => {
    dialog.close();
    if (said.length) changed(...said);
  };
  try {
    const { lease } = await api.get(`leases/${bar.id}`);
    const page = element("a", { href: toLease(lease.id) }, text("ownPage"));
    content.replaceChildren(page, ...facts(lease), ...actions(api, lease, close, changed));
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

/** What is known of a lease. @param {any} lease @returns {HTMLElement[]} */
export function facts(lease) {
  const isUsable = !lease.shared_right || mayUse(lease.shared_right);
  const uses = !isUsable ? [] : lease.reservations.map((/** @type {any} */ each) => useOf(each, Boolean(lease.shared_right))).filter(Boolean);
  return [
    summary(lease),
    ...lease.reservations.map(reservation),
    ...(lease.on_start ? [section("onStart", onStart(lease.on_start))] : []),
    ...(uses.length ? [section("useIt", ...uses.map(copyable))] : []),
    section("history", history(lease)),
    section("commands", ...commands(lease).map(copyable)),
  ];
}

/** @param {import("./texts.js").Key} heading @param {...Node} content */
export function section(heading, ...content) {
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
    ...reasons(lease).map((reason) => element("p", {}, reason)),
    lease.degraded && element("p", { class: "warning" }, text("degraded")),
  );
}

/** Why a lease is as it is, and what becomes of it by itself. @param {any} lease @returns {string[]} */
function reasons(lease) {
  const found = lease.status_reason ? [lease.status_reason] : [];
  if (lease.shared_right) found.push(rightName(lease.shared_right));
  if (lease.waiting) {
    const { position, until, expected_start: expected } = lease.waiting;
    found.push(text("position", { position }), text("waitsUntil", { until: shown(parsed(until)) }));
    if (expected) found.push(text("expected", { start: shown(parsed(expected)) }));
  }
  if (lease.series_id) found.push(text("ofSeries"));
  if (lease.claim_by_date) found.push(text("claimBy", { time: shown(parsed(lease.claim_by_date)) }));
  if (lease.priority && lease.priority !== "normal") found.push(text("priorityIs", { priority: lease.priority }));
  return found;
}

/** @param {any} told a reservation */
function reservation(told) {
  const asked = Object.entries(told).filter(([name, value]) => !OWN.includes(name) && value !== "" && value !== null);
  const wishes = asked.map(([name, value]) => [
    element("dt", {}, parameterName(name)),
    element("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value)),
  ]);
  const got = [statusName(told.status), told.status_reason].filter(Boolean).join(": ");
  const units = told.units === undefined ? "" : text("heldUnits", { kind: kindName([told.resource_type]), units: told.units });
  return element(
    "section",
    {},
    element("h3", {}, `${text("asked")}: ${kindName([told.resource_type])}`),
    element(
      "dl",
      {},
      ...wishes.flat(),
      element("dt", {}, text("got")),
      element("dd", { "data-reservation": told.id }, [got, units].filter(Boolean).join("; ")),
      ...use(told.use),
      ...(told.missing_resources ? why("missing") : []),
      ...(told.resources_changed ? why("replaced") : []),
      element("dt", {}, text("id")),
      element("dd", { class: "code" }, told.id),
    ),
  );
}

/** What is started with a lease, and how far it is. @param {any} told */
function onStart(told) {
  /** @type {[import("./texts.js").Key, string | null | undefined, string?][]} */
  const known = [
    ["startTask", startTaskName(told.type)],
    ["state", told.status && statusName(told.status)],
    ["why", told.reason, "warning"],
    ["stackName", told.stack_name, "code"],
    ["id", told.stack_id ?? told.subscription_id, "code"],
    ["region", told.region],
    ["address", told.url, "code"],
    ["changedLast", told.updated_at && shown(parsed(told.updated_at))],
  ];
  const lines = known.filter(([, value]) => value).flatMap(([key, value, kind]) => [
    element("dt", {}, text(key)),
    element("dd", { class: kind }, value),
  ]);
  return element("dl", {}, ...lines);
}

/** What of it is used. @param {any} [told] nothing where it is not known */
function use(told) {
  if (!told?.looked_at) return [];
  const { used, left, looked_at: at } = told;
  return [element("dt", {}, text("use")), element("dd", {}, text("usedAndLeft", { used, left, time: shown(parsed(at)) }))];
}

/** @param {"missing" | "replaced"} key */
function why(key) {
  return [element("dt", {}, text("why")), element("dd", { class: "warning" }, text(key))];
}

/**
 * Name the hosts of each reservation, to those who may see them.
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {HTMLElement} content
 */
export async function tellResources(api, lease, content) {
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

/** When it was made, its events, and when it was changed last. @param {any} lease */
function history(lease) {
  /** @type {[string, string, string][]} what, when, and what came of it */
  const known = lease.events.map((/** @type {any} */ { event_type: type, time, status, updated_at: settled }) => {
    const at = settled ? shown(parsed(settled)) : "";
    return [eventName(type), time, status === "UNDONE" ? text("notYet") : [statusName(status), at].filter(Boolean).join(", ")];
  });
  if (lease.updated_at) known.push([text("changedLast"), lease.updated_at, statusName(lease.status)]);
  known.sort(([, one], [, other]) => parsed(one) - parsed(other));
  if (lease.created_at) known.unshift([text("made"), lease.created_at, text("by", { user: lease.user_id })]);
  return table(["event", "time", "outcome"], known.map(([what, when, outcome]) => [what, shown(parsed(when)), outcome]));
}

/**
 * How servers get into a reservation, by the words of the kind's own documentation.
 * @param {any} told
 * @param {boolean} isShared with the project: a server group is of the one that has the lease
 */
function useOf(told, isShared = false) {
  if (told.resource_type === "physical:host") {
    return `openstack server create --hint reservation=${told.id} --flavor FLAVOR --image IMAGE --network NETWORK NAME`;
  }
  if (["virtual:instance", "flavor:instance"].includes(told.resource_type)) {
    const group = told.server_group_id && !isShared ? ` --hint group=${told.server_group_id}` : "";
    return `openstack server create --flavor ${told.id}${group} --image IMAGE --network NETWORK NAME`;
  }
  return null;
}

/** The commands that its user may give. @param {any} lease @returns {string[]} */
function commands(lease) {
  return [
    `openstack reservation lease show ${lease.id}`,
    ...(lease.shared_right === "take_over" ? [`openstack reservation lease take over ${lease.id}`] : []),
    ...(isChangeable(lease) ? [`openstack reservation lease set --prolong-for 1h ${lease.id}`] : []),
    ...(isDivisible(lease) ? [splitCommand(lease)] : []),
    ...(lease.shared_right ? [] : [`openstack reservation lease delete ${lease.id}`]),
  ];
}

/** @param {any} lease @returns {boolean} whether the project of the user may change its name and its dates */
export function isChangeable({ shared_right: right }) {
  return !right || mayChange(right);
}

/**
 * What its user may do to a lease: extend it, give it other dates, split or cancel it where it is of the own project,
 * take it over where it is offered.
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {Close} close
 * @param {import("./dates.js").Changed} changed
 * @returns {HTMLElement[]} none where it is over, or is another project's and may only be seen
 */
export function actions(api, lease, close, changed) {
  if (lease.shared_right === "take_over" && lease.status === "PENDING") return [takeover(api, lease, close)];
  if (FINAL.includes(lease.status) || !isChangeable(lease)) return [];
  const told = element("p", { class: "told", role: "status" });
  let by = HOUR;
  const end = () => later(parsed(lease.end_date), by);
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
  const split = isDivisible(lease) && button(text("split"), () =>
    openSplit(api, lease.id, changed, close).catch((refusal) => (told.textContent = messageOf(refusal))));
  const may = lease.shared_right ? [extend, dates] : [extend, dates, split, cancel];
  const bar = element("div", { class: "actions" }, labelled(text("extendBy"), chooser), ...may);
  return [element("footer", {}, bar, told)];
}

/**
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {Element} bar to show again
 * @param {Close} close
 */
function confirmation(api, lease, bar, close) {
  const cancel = () =>
    api.delete(`leases/${lease.id}`).then(() =>
      close(text("cancelled"), lease.status === "PENDING" ? () => makeAgain(api, lease) : undefined));
  return asked(bar, { question: "sureToCancel", yes: "yesCancel", no: "keep" }, cancel, "danger");
}

/**
 * Make a lease that another project offers this one's; it is asked first, for it cannot be undone.
 * @param {import("./api.js").Api} api
 * @param {any} lease
 * @param {Close} close
 * @returns {HTMLElement}
 */
function takeover(api, lease, close) {
  const take = () =>
    api.post(`leases/${lease.id}/take_over`).then(() => close(text("takenOver", { name: lease.name })));
  const begin = button(text("takeOver"), () =>
    bar.replaceWith(asked(bar, { question: "sureToTakeOver", yes: "yesTakeOver", no: "leaveIt" }, take, "primary")));
  const bar = element("div", { class: "actions" }, begin);
  return element("footer", {}, bar);
}

/**
 * A question in the place of what has asked it; not to do it has the focus.
 * @param {Element} bar to show again
 * @param {Record<"question" | "yes" | "no", import("./texts.js").Key>} words
 * @param {() => Promise<void>} act
 * @param {"danger" | "primary"} look
 * @returns {HTMLElement}
 */
function asked(bar, words, act, look) {
  const told = element("span", { role: "alert" }, text(words.question));
  const yes = button(text(words.yes), () => act().catch((refusal) => (told.textContent = messageOf(refusal))), { class: look });
  const no = button(text(words.no), () => question.replaceWith(bar));
  const question = element("div", { class: "actions" }, told, yes, no);
  queueMicrotask(() => no.focus());
  return question;
}

/**
 * @param {Record<string, import("./fields.js").KindSchema>} schemas
 * @param {any} lease
 * @returns {Record<string, unknown>} what it asks for, but for its name and its dates, as a create takes it
 */
export function wishOf(schemas, lease) {
  const reservations = lease.reservations.map((/** @type {any} */ told) => {
    const known = Object.keys(schemas[told.resource_type].properties).filter((name) => (told[name] ?? null) !== null);
    return { resource_type: told.resource_type, ...Object.fromEntries(known.map((name) => [name, told[name]])) };
  });
  const optional = ["claim_by", "priority"].filter((name) => (lease[name] ?? null) !== null);
  return { reservations, ...Object.fromEntries(optional.map((name) => [name, lease[name]])) };
}

/**
 * Make a lease again that has been cancelled before its start.
 * @param {import("./api.js").Api} api
 * @param {any} lease as it was
 * @returns {Promise<string>} what to say
 */
async function makeAgain(api, lease) {
  const body = await api.post("leases", {
    name: lease.name,
    start_date: wire(parsed(lease.start_date)),
    end_date: wire(parsed(lease.end_date)),
    events: [],
    ...wishOf(await kindSchemas(api), lease),
  });
  if (leaseIn(location.hash) === lease.id) location.hash = toLease(body.lease.id);
  return text("madeAgain", { name: lease.name });
}
