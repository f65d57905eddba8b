/** What operators look at: the managers, how much is reserved when, the projects, and hosts that are taken away. */

import { button, choice, copyable, element, labelled, table } from "./element.js";
import { messageOf, section } from "./lease.js";
import { endMaintenance, openMaintenance } from "./maintenance.js";
import { DAY, HOUR, MINUTE, parsed, shown, wire } from "./moments.js";
import { toLease } from "./routes.js";
import { kindName, text } from "./texts.js";

/** The times ahead of which the use is told. @type {[import("./texts.js").Key, number][]} */
const SPANS = [["day", DAY], ["week", 7 * DAY], ["fourWeeks", 28 * DAY], ["quarter", 91 * DAY], ["year", 365 * DAY]];
/** The lengths of the periods for which the past is told, as many as PERIODS. @type {[import("./texts.js").Key, number][]} */
const PAST = [["pastDays", DAY], ["pastWeeks", 7 * DAY], ["pastMonths", 30 * DAY]];
const PERIODS = 12;
const MOST_PROJECTS = 50;
const PAGE = 1000;
const PLOT = { width: 220, height: 34 };

/** @typedef {{ at: number, total: number, reserved: number }} Step */
/** @typedef {{ from: number, promised: number, used: number }} Period hours that were promised, and used of them */

/** @param {number} late @returns {string} in tenths */
function seconds(late) {
  return text("seconds", { seconds: Math.round(late * 10) / 10 });
}

export class OperatorsPage extends HTMLElement {
  /**
   * @param {import("./api.js").Api} api
   * @param {import("./keystone.js").Session} session
   * @param {import("./dates.js").Changed} changed
   */
  constructor(api, session, changed) {
    super();
    this._api = api;
    this._session = session;
    this._changed = changed;
    this._span = 7 * DAY;
    this._heading = element("h2", { tabindex: -1 }, text("operators"));
    const spans = Object.fromEntries(SPANS.map(([key, length]) => [String(length), text(key)]));
    const span = choice(spans, String(this._span), (value) => {
      this._span = Number(value);
      this._utilisation.replaceChildren();
      this._tell(this._utilisation, () => this._readUtilisation());
    });
    this._period = 7 * DAY;
    const lengths = Object.fromEntries(PAST.map(([key, length]) => [String(length), text(key)]));
    const period = choice(lengths, String(this._period), (value) => {
      this._period = Number(value);
      this._past.replaceChildren();
      this._tell(this._past, () => this._readPast());
    });
    this._health = element("div");
    this._managers = element("div");
    this._utilisation = element("div");
    this._usage = element("div");
    this._past = element("div");
    this._projects = element("div");
    this._maintenances = element("div");
    this._content = element(
      "main",
      { class: "own-page" },
      element("a", { href: "#" }, `‹ ${text("toCalendar")}`),
      this._heading,
      section("health", this._health),
      section("managers", this._managers),
      section("utilisation", labelled(text("timeAhead"), span), this._utilisation),
      section("maintenances", this._maintenances),
      section("projects", this._projects),
      section("usage", this._usage),
      section("past", labelled(text("timeBack"), period), this._past),
    );
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this._content);
  }

  /** Whether the user may see this page. @returns {Promise<boolean>} */
  async isAllowed() {
    return this._api.get("services").then(() => true, () => false);
  }

  async open() {
    document.title = `${text("operators")} · ${text("title")}`;
    this._heading.focus();
    await Promise.all([
      this.refresh(),
      this._tell(this._projects, () => this._readProjects()),
      this._tell(this._usage, () => this._readUsage()),
      this._tell(this._past, () => this._readPast()),
    ]);
  }

  async refresh() {
    if (this.hidden) return;
    await Promise.all([
      this._tell(this._health, () => this._readHealth()),
      this._tell(this._managers, () => this._readManagers()),
      this._tell(this._utilisation, () => this._readUtilisation()),
      this._tell(this._maintenances, () => this._readMaintenances()),
    ]);
  }

  /** Show what was read, or why it was not; the parts of the page do not wait for each other. @param {HTMLElement} place @param {() => Promise<Node[]>} read */
  async _tell(place, read) {
    const found = await read().catch((refusal) => [element("p", { role: "alert" }, messageOf(refusal))]);
    const renewed = element("div", {}, ...found);
    // What says the same stays, and so does the focus in it.
    if (renewed.textContent !== place.textContent) place.replaceChildren(...renewed.childNodes);
  }

  async _readHealth() {
    const { status, details } = await this._api.health();
    const { threads = {}, event_lag_seconds: late, subscription_lag_seconds: lag, outbox, ...parts } = details;
    const idle = Object.entries(threads).filter(([, state]) => state !== "OK");
    const { leases } = await this._api.get("leases", { status: "ERROR", fields: "id,name", limit: 20 });
    const inError = leases.map((/** @type {any} */ { id, name }) => element("li", {}, element("a", { href: toLease(id) }, name)));
    return [
      facts([
        [text("status"), status],
        ...Object.entries(parts).map(([part, state]) => /** @type {[string, string]} */ ([part, String(state)])),
        [text("lateness"), late === undefined ? text("unknown") : seconds(late)],
        [text("outbox"), String(outbox ?? text("unknown"))],
        [text("subscriptionLag"), lag === undefined ? text("unknown") : seconds(lag)],
        [text("threads"), idle.map(([name, state]) => `${name}: ${state}`).join(", ") || text("allWork")],
        [text("drift"), threads.drift ?? text("notCompared")],
      ]),
      element("p", { class: "quiet" }, text("driftMeans")),
      ...(inError.length ? [element("p", { class: "warning" }, text("inError")), element("ul", {}, ...inError)] : []),
    ];
  }

  async _readManagers() {
    const { services } = await this._api.get("services");
    const heads = /** @type {const} */ (["host", "program", "state", "version", "eventsNow", "plansWaiting", "lateness", "seen"]);
    const rows = services.map((/** @type {any} */ each) => [
      each.host,
      each.binary,
      each.state,
      each.version,
      String(each.events ?? ""),
      String(each.plans ?? ""),
      each.late_seconds === null ? "" : seconds(each.late_seconds),
      shown(parsed(each.seen_at)),
    ]);
    return [wide(heads, rows)];
  }

  async _readUtilisation() {
    const from = Math.ceil(Date.now() / MINUTE) * MINUTE;
    const to = from + this._span;
    const { capacity } = await this._api.get("capacity", { start_date: wire(from), end_date: wire(to) });
    const rows = capacity.quantities
      .filter((/** @type {any} */ { steps }) => steps.some((/** @type {any} */ step) => step.total > 0))
      .map((/** @type {any} */ { name, steps: told }) => {
        /** @type {Step[]} */
        const steps = told.map((/** @type {any} */ step) => ({ at: parsed(step.from), total: step.total, reserved: step.reserved ?? 0 }));
        const most = Math.max(...steps.map(share));
        return [
          name.replaceAll("_", " "),
          plot(steps, from, to),
          text("reservedOf", { reserved: steps[0].reserved, total: steps[0].total }),
          percent(mean(steps, to)),
          percent(most),
        ];
      });
    return [wide(["quantity", "overTime", "now", "mean", "most"], rows)];
  }

  async _readMaintenances() {
    const { maintenances } = await this._api.get("maintenances");
    const hosts = maintenances.length ? await this._hostNames() : new Map();
    const rows = maintenances.map((/** @type {any} */ each) => {
      const ends = button(text("endMaintenance"), () =>
        endMaintenance(this._api, each.id, this._changed).catch((refusal) => this._changed(messageOf(refusal))),
      { class: "danger", "aria-label": `${text("endMaintenance")}: ${each.name}` });
      const names = each.hosts.map((/** @type {string} */ id) => hosts.get(id) ?? id).join(", ");
      return [each.name, names, shown(parsed(each.start_date)), shown(parsed(each.end_date)), each.reason ?? "", ends];
    });
    const start = Math.ceil((Date.now() + 5 * MINUTE) / HOUR) * HOUR;
    const make = button(text("newMaintenance"), () =>
      openMaintenance(this._api, { start, end: start + 2 * HOUR, hosts: "" }, this._changed),
    );
    const found = rows.length ? wide(["name", "hosts", "starts", "ends", "why", "change"], rows) : element("p", { class: "quiet" }, text("noMaintenance"));
    return [found, make];
  }

  async _readUsage() {
    const [{ usage }, names] = await Promise.all([this._api.get("usage"), this._session.projectNames()]);
    const rows = usage.rows.map((/** @type {any} */ row) => {
      const { promised_hours: promised, used_hours: used } = row;
      const kind = kindName([row.resource_type]);
      const part = element("meter", { min: 0, max: promised || 1, value: used, "aria-label": text("used") });
      const numbers = [promised, used, row.unused_hours, row.no_shows].map(String);
      return [names.get(row.project_id) ?? row.project_id, kind, ...numbers, part];
    });
    if (!rows.length) return [element("p", { class: "quiet" }, text("noUsage"))];
    return [wide(["project", "kind", "promised", "used", "unused", "noShows", "usedPart"], rows)];
  }

  async _readPast() {
    const length = this._period;
    const end = Math.ceil(Date.now() / MINUTE) * MINUTE;
    const starts = Array.from({ length: PERIODS }, (_, at) => end - (PERIODS - at) * length);
    const reports = await Promise.all(
      starts.map((from) => this._api.get("usage", { start_date: wire(from), end_date: wire(from + length), group_by: "none" })),
    );
    const kinds = new Set(reports.flatMap(({ usage }) => usage.rows.map((/** @type {any} */ row) => row.resource_type)));
    if (!kinds.size) return [element("p", { class: "quiet" }, text("noUsage"))];
    const rows = [...kinds].sort().map((kind) => {
      const found = reports.map(({ usage }) => usage.rows.find((/** @type {any} */ row) => row.resource_type === kind));
      /** @type {Period[]} */
      const periods = starts.map((from, at) => ({ from, promised: found[at]?.promised_hours ?? 0, used: found[at]?.used_hours ?? 0 }));
      const [promised, used, unknown] = ["promised_hours", "used_hours", "unknown_hours"].map((name) =>
        found.reduce((sum, row) => sum + (row?.[name] ?? 0), 0),
      );
      return [kindName([kind]), barsOf(periods), ...[promised, used, unknown].map(hours), percent(promised ? used / promised : 0)];
    });
    return [wide(["kind", "overTime", "promised", "used", "notKnown", "usedPart"], rows), element("p", { class: "quiet" }, text("pastMeans"))];
  }

  async _hostNames() {
    const { hosts } = await this._api.get("os-hosts", { limit: PAGE });
    return new Map(hosts.map((/** @type {any} */ host) => [host.id, host.hypervisor_hostname]));
  }

  /** What the projects that have leases ahead, or limits of their own, use of their limits. */
  async _readProjects() {
    const [{ quotas }, { leases, leases_links: more }, names] = await Promise.all([
      this._api.get("quotas"),
      this._api.get("leases", { ends_after: wire(Date.now()), fields: "project_id", sort: "end_date", limit: PAGE }),
      this._session.projectNames(),
    ]);
    const ids = new Set([...quotas, ...leases].map((/** @type {any} */ each) => each.project_id));
    const nameOf = (/** @type {string} */ id) => names.get(id) ?? id;
    const told = [...ids].sort((one, other) => nameOf(one).localeCompare(nameOf(other))).slice(0, MOST_PROJECTS);
    /** @type {(string | Node)[][]} */
    const rows = [];
    for (const id of told) {
      const { usage } = await this._api.get(`quotas/${id}/usage`);
      for (const { name, limit, now, peak } of usage.limits) {
        if (peak > 0 || limit >= 0 && name !== "leases") {
          const ratio = limit > 0 ? element("meter", { min: 0, max: limit, value: peak, "aria-label": name }) : "";
          rows.push([nameOf(id), name.replaceAll("_", " "), limit < 0 ? text("noLimit") : String(limit), String(now), String(peak), ratio]);
        }
      }
    }
    const isCut = more?.length || ids.size > told.length;
    return [
      wide(["project", "quantity", "limit", "now", "most", "ofLimit"], rows),
      ...(isCut ? [element("p", { class: "quiet" }, text("moreProjects", { count: told.length }))] : []),
      element("p", { class: "quiet" }, text("limitsBy")),
      copyable("openstack reservation quota set PROJECT_ID hosts=10"),
    ];
  }
}

/** @param {Step} step */
function share({ total, reserved }) {
  return total > 0 ? reserved / total : 0;
}

/** @param {Step[]} steps @param {number} end @returns {number} the share that is reserved, over all of the time */
function mean(steps, end) {
  const weighed = steps.map((step, at) => share(step) * ((steps[at + 1]?.at ?? end) - step.at));
  return weighed.reduce((sum, each) => sum + each, 0) / Math.max(end - steps[0].at, 1);
}

/** @param {number} part */
function percent(part) {
  return text("percent", { percent: Math.round(part * 100) });
}

/** @param {Step[]} steps @param {number} from @param {number} to @returns {HTMLElement} what is reserved over time; the numbers stand beside it */
function plot(steps, from, to) {
  const { width, height } = PLOT;
  return drawn({ "aria-hidden": "true" }, (pen) =>
    steps.forEach((step, at) => {
      const x = ((step.at - from) / (to - from)) * width;
      const end = (((steps[at + 1]?.at ?? to) - from) / (to - from)) * width;
      const y = share(step) * height;
      pen.fillRect(x, height - y, end - x, y);
    }),
  );
}

/** @param {Period[]} periods @returns {HTMLElement} a bar for each: what was promised, and in it what was used */
function barsOf(periods) {
  const { width, height } = PLOT;
  const most = Math.max(...periods.map(({ promised }) => promised)) || 1;
  const said = periods.map(({ from, promised, used }) => text("period", { from: shown(from), promised: hours(promised), used: hours(used) }));
  return drawn({ role: "img", "aria-label": said.join("; ") }, (pen) =>
    periods.forEach(({ promised, used }, at) => {
      const [x, end] = [at, at + 1].map((number) => (number * width) / periods.length);
      for (const [part, opacity] of [[promised, 0.35], [used, 1]]) {
        pen.globalAlpha = opacity;
        pen.fillRect(x + 1, height - (part / most) * height, end - x - 2, (part / most) * height);
      }
    }),
  );
}

/** @param {Record<string, string>} attributes @param {(pen: CanvasRenderingContext2D) => void} draw @returns {HTMLElement} */
function drawn(attributes, draw) {
  const { width, height } = PLOT;
  const canvas = element("canvas", { class: "plot", ...attributes, width: width * devicePixelRatio, height: height * devicePixelRatio });
  requestAnimationFrame(() => {
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.scale(devicePixelRatio, devicePixelRatio);
    pen.fillStyle = getComputedStyle(canvas).stroke;
    draw(pen);
  });
  return canvas;
}

/** @param {number} number */
function hours(number) {
  return String(Math.round(number * 100) / 100);
}

/** @param {[string, string][]} known */
function facts(known) {
  return element("dl", {}, ...known.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** A table that is scrolled by itself where it is wider than the page. @param {Parameters<typeof table>} of */
function wide(...of) {
  return element("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": of[0].map((key) => text(key)).join(", ") }, table(...of));
}

customElements.define("blazar-operators", OperatorsPage);
