/** The calendar of a signed-in user: the tools above it, and the same rows as timeline, table or agenda. */

import { Api, Refused } from "./api.js";
import { hostLease, openCreation, soonIn } from "./create.js";
import "./curve.js";
import { changeDates, changeOf } from "./dates.js";
import { interval } from "./drawing.js";
import { DryRun } from "./dry-run.js";
import { button, choice, element, labelled, table } from "./element.js";
import { offerName, openOffer } from "./held.js";
import { messageOf, openLease } from "./lease.js";
import { OperatorsPage } from "./operators.js";
import { LeasePage } from "./lease-page.js";
import { MailPage } from "./mail-page.js";
import { DAY, HOUR, clock, date, shown } from "./moments.js";
import { MAIL, OPERATORS, leaseIn } from "./routes.js";
import { LEASE_GROUPS, LeaseRows, ResourceRows } from "./rows.js";
import { SPANS, Scale } from "./scale.js";
import "./timeline.js";
import { kindName, nameOf, statusName, text } from "./texts.js";

const NARROW = "(max-width: 600px)";
const AGAIN = 20_000;
const PAUSE = 250;
const TABLE_ROWS = 50;
const MOST_CHIPS = 20;
const RESOURCE_GROUPS = ["availability_zone", "hypervisor_type", "vcpus", "memory_mb"];
const KINDS = ["physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"];

/** @typedef {import("./rows.js").Bar} Bar */
/** @typedef {import("./drawing.js").Drawing} Drawing */

export class Calendar extends HTMLElement {
  /**
   * @param {import("./keystone.js").Session} session
   * @param {{ left: (why?: string) => void, moved: (session: import("./keystone.js").Session) => void }} events
   */
  constructor(session, events) {
    super();
    this._session = session;
    this._events = events;
    this._api = new Api(session, () => events.left(text("sessionOver")));
    this._filter = { search: "", group: "", kind: "" };
    this._scale = new Scale(Date.now() - 12 * HOUR, 7 * DAY);
    /** @type {import("./timeline.js").Rows} */
    this._rows = new ResourceRows(this._api, this._filter);
    this._shows = "resources";
    this._as = "timeline";
    this._asOnNarrow = "agenda";
    this._firstOfTable = 0;
    this._inSight = [0, 0];
    this._timer = 0;
    this._dryRun = new DryRun((refusal) => {
      this._timeline.judge(!refusal);
      this._tell(refusal ? text("fitsNot", { message: messageOf(refusal) }) : text("fits"));
    });
    this._narrow = matchMedia(NARROW);
    this._connected = new AbortController();
    /** @type {Map<string, string>} */
    this._names = new Map();
    this._page = new LeasePage(this._api, (...said) => this._changed(...said));
    this._operators = new OperatorsPage(this._api, session, (...said) => this._changed(...said));
    this._mail = new MailPage(this._api, (...said) => this._changed(...said));
    this._toOperators = element("a", { href: OPERATORS, hidden: true }, text("operators"));
    this._main = element("main");
    this._span = element("select");
    this._view = element("div");
    this._kind = element("select");
  }

  connectedCallback() {
    this._narrow.onchange = () => {
      this._offerViews();
      this._show();
    };
    this._build();
    this._route();
    addEventListener("hashchange", this._route, { signal: this._connected.signal });
    this._start();
    this._timer = window.setInterval(() => {
      if (document.hidden) return;
      if (this._main.hidden) this._refreshPages();
      else this._refresh();
    }, AGAIN);
  }

  disconnectedCallback() {
    this._connected.abort();
    clearInterval(this._timer);
    this._narrow.onchange = null;
  }

  /** Show what the address says: the page of a lease, that of operators, that of mail, or the calendar. */
  _route = () => {
    for (const dialog of document.querySelectorAll("dialog")) dialog.close();
    const id = leaseIn(location.hash);
    const isOperators = location.hash === OPERATORS;
    const isMail = location.hash === MAIL;
    for (const each of [this._nav, this._main]) each.hidden = Boolean(id) || isOperators || isMail;
    this._page.hidden = !id;
    this._operators.hidden = !isOperators;
    this._mail.hidden = !isMail;
    document.title = text("title");
    if (id) this._page.open(id);
    else if (isOperators) this._operators.open();
    else if (isMail) this._mail.open();
    else if (this._rows.isKnown) this._show();
  };

  /** Administrators see resources, and others where the operator lets them; else there are the leases. */
  async _start() {
    try {
      await this._rows.load(0, 0, this._scale);
    } catch (refusal) {
      if (!(refusal instanceof Refused) || ![403, 404].includes(refusal.status)) this._tell(messageOf(refusal));
      this._shows = "leases";
      this._offerGroups();
      this._view.hidden = true;
      this._rows = new LeaseRows(this._api, this._filter, await this._projectNames());
    }
    this._show();
    this._line();
  }

  _build() {
    const session = this._session;
    this._told = element("p", { class: "live", role: "status", "aria-live": "polite" });
    this._count = element("span", { class: "quiet count" });
    this._timeline = element("blazar-timeline", {
      on: {
        scale: (/** @type {CustomEvent} */ event) => this._scaled(event.detail),
        open: (/** @type {CustomEvent} */ event) => this._open(event.detail),
        now: () => this._goNow(),
        sight: (/** @type {CustomEvent} */ event) => this._load(event.detail[0], event.detail[1]),
        drawing: (/** @type {CustomEvent} */ event) => this._judge(event.detail),
        drawn: (/** @type {CustomEvent} */ event) => this._do(event.detail),
        undrawn: () => this._undrawn(),
        new: (/** @type {CustomEvent} */ event) => this._create({ ...soonIn(this._scale), requirement: event.detail?.requirement, host: hostOf(event.detail) }),
      },
    });
    this._curve = element("blazar-curve");
    this._list = element("div", { class: "list" });
    this._waits = element("aside", { class: "waiting", hidden: true, "aria-label": text("heldAndWaiting") });
    this._nav = this._tools();
    this._main.append(this._waits, this._curve, this._timeline, this._list);
    this._projects = element("span", { class: "project" }, text("who", { user: session.user, project: session.project?.name ?? "" }));
    this.append(
      element(
        "header",
        { class: "top" },
        element("h1", {}, text("title")),
        this._toOperators,
        element("a", { href: MAIL }, text("mail")),
        this._projects,
        button(text("newLease"), () => this._create(soonIn(this._scale)), {
          class: "primary",
        }),
        button(text("signOut"), () => this._leave(), { class: "plain" }),
      ),
      this._nav,
      this._main,
      this._page,
      this._operators,
      this._mail,
      this._told,
    );
    this._offerProjects();
    this._operators.isAllowed().then((isAllowed) => (this._toOperators.hidden = !isAllowed));
  }

  async _offerProjects() {
    const session = this._session;
    const known = await session.projects().catch(() => []);
    if (known.length < 2) return;
    const names = Object.fromEntries(known.map((/** @type {any} */ each) => [each.id, each.name]));
    const change = async (/** @type {string} */ id) => {
      try {
        this._events.moved(await session.within(id));
      } catch (failure) {
        this._tell(messageOf(failure));
      }
    };
    this._projects.replaceChildren(text("who", { user: session.user, project: "" }), choice(names, session.project?.id ?? "", change, { "aria-label": text("project") }));
  }

  _tools() {
    const spans = Object.fromEntries(SPANS.map(([key, length]) => [String(length), text(key)]));
    this._span = choice(spans, String(this._scale.span), (value) => this._scaled(this._scale.zoomed(Number(value))));
    this._view = labelled(
      text("shows"),
      choice({ resources: text("resources"), leases: text("leases") }, "resources", (value) => {
        this._shows = value;
        this._offerGroups();
        this._again();
      }),
    );
    this._chosenView = element("div");
    this._offerViews();
    const kinds = Object.fromEntries(KINDS.map((each) => [each, kindName([each])]));
    this._kind = choice({ "": text("allKinds"), ...kinds }, "", (value) => this._filtered({ kind: value }));
    const search = this._waiting("search", { type: "search", placeholder: text("searchHint"), maxlength: 100 });
    const group = this._waiting("group", { placeholder: "property", list: "groups", maxlength: 100 });
    const goTo = element("input", { type: "date", on: { change: () => goTo.value && this._goTo(new Date(`${goTo.value}T00:00`)) } });
    const groups = (this._groups = element("datalist", { id: "groups" }));
    this._offerGroups();
    return element(
      "nav",
      { class: "tools", "aria-label": text("tools") },
      element(
        "div",
        { class: "steps" },
        button("‹", () => this._scaled(this._scale.moved(-0.5)), { "aria-label": text("earlier") }),
        button(text("now"), () => this._goNow()),
        button("›", () => this._scaled(this._scale.moved(0.5)), { "aria-label": text("later") }),
        button("−", () => this._scaled(this._scale.stepped(1)), { "aria-label": text("zoomOut") }),
        button("+", () => this._scaled(this._scale.stepped(-1)), { "aria-label": text("zoomIn") }),
      ),
      labelled(text("span"), this._span),
      labelled(text("goTo"), goTo),
      this._view,
      this._chosenView,
      labelled(text("kind"), this._kind),
      labelled(text("search"), search),
      element("div", { class: "wide" }, labelled(text("groupBy"), group)),
      groups,
      this._count,
    );
  }

  /** Offer the rows as a timeline, or else as a table; on a narrow screen as an agenda, which comes first there. */
  _offerViews() {
    const isNarrow = this._narrow.matches;
    /** @type {Record<string, string>} */
    const views = isNarrow
      ? { agenda: text("agenda"), timeline: text("timeline") }
      : { timeline: text("timeline"), table: text("table") };
    const choose = (/** @type {string} */ value) => {
      if (isNarrow) this._asOnNarrow = value;
      else this._as = value;
      this._show();
    };
    this._chosenView.replaceChildren(labelled(text("as"), choice(views, isNarrow ? this._asOnNarrow : this._as, choose)));
  }

  /** A field that takes effect when its user pauses. @param {"search" | "group"} name @param {Record<string, unknown>} more */
  _waiting(name, more) {
    let waits = 0;
    const field = element("input", {
      name,
      autocomplete: "off",
      spellcheck: "false",
      ...more,
      on: {
        input: () => {
          clearTimeout(waits);
          waits = window.setTimeout(() => this._filtered({ [name]: field.value.trim() }), PAUSE);
        },
      },
    });
    return field;
  }

  // What is shown

  /** @param {Partial<import("./rows.js").Filter>} part */
  _filtered(part) {
    this._filter = { ...this._filter, ...part };
    this._again();
  }

  /** Read all rows anew. */
  async _again() {
    this._firstOfTable = 0;
    const rows = this._shows === "resources"
      ? new ResourceRows(this._api, this._filter)
      : new LeaseRows(this._api, this._filter, await this._projectNames());
    this._rows = rows;
    try {
      await rows.load(0, 0, this._scale);
    } catch (refusal) {
      this._tell(messageOf(refusal));
      return;
    }
    if (rows === this._rows) this._show();
  }

  /** @param {Scale} scale */
  _scaled(scale) {
    this._scale = scale;
    const exact = SPANS.find(([, length]) => Math.abs(length - scale.span) < 1);
    this._span.value = exact ? String(exact[1]) : "";
    this._show();
  }

  /** @param {Date} day */
  _goTo(day) {
    this._scaled(new Scale(day.getTime(), this._scale.span));
  }

  /** Offer what the rows can be grouped by: leases by what they are, resources by each property that hosts have. */
  async _offerGroups() {
    const isLeases = this._shows === "leases";
    const { resource_properties: known } = isLeases
      ? { resource_properties: [] }
      : await this._api.get("os-hosts/properties", { all: "true" }).catch(() => ({ resource_properties: [] }));
    const names = isLeases ? LEASE_GROUPS : [...RESOURCE_GROUPS, ...known.map((/** @type {any} */ each) => each.property)];
    this._groups.replaceChildren(...[...new Set(names)].map((value) => element("option", { value })));
  }

  /** @returns {Promise<Map<string, string>>} the names of projects by their ids: of all, where Keystone tells them, or of one */
  async _projectNames() {
    if (!this._names.size && !this._toOperators.hidden) this._names = await this._session.projectNames();
    const { project } = this._session;
    return project ? new Map([[project.id, project.name], ...this._names]) : this._names;
  }

  _goNow() {
    this._scaled(new Scale(Date.now() - this._scale.span / 14, this._scale.span));
  }

  _show() {
    const rows = this._rows;
    const isAgenda = this._narrow.matches && this._asOnNarrow === "agenda";
    const isTimeline = !isAgenda && (this._narrow.matches || this._as === "timeline");
    this._timeline.hidden = !isTimeline;
    this._list.hidden = isTimeline;
    this._curve.show(this._api, this._scale, this._filter.kind);
    if (isTimeline) {
      this._timeline.show(rows, this._scale, this._session.project?.id ?? "");
    } else {
      this._load(this._firstOfTable, this._firstOfTable + TABLE_ROWS - 1);
      this._list.replaceChildren(...(isAgenda ? this._agenda() : this._table()));
    }
    this._count.textContent = this._state();
    this._offerKinds();
  }

  /** Let the kinds of other packages be chosen as well, which are known by their rows. */
  _offerKinds() {
    const known = [...this._kind.options].map((each) => each.value);
    const further = this._rows.kinds.filter((each) => !known.includes(each));
    this._kind.append(...further.map((value) => element("option", { value }, kindName([value]))));
  }

  _state() {
    const rows = this._rows;
    if (!rows.isKnown) return text("loading");
    if (rows instanceof LeaseRows && rows.isCut) return text("moreLeases", { count: rows.total });
    if (rows.leftOut) return text("leftOut", { count: rows.leftOut });
    if (rows.total === 0) return text(rows instanceof LeaseRows ? "noLeases" : "noRows");
    return text("updated", { time: clock(Date.now()) });
  }

  /** @param {number} first @param {number} last */
  async _load(first, last) {
    const rows = this._rows;
    this._inSight = [first, last];
    try {
      if ((await rows.load(first, last, this._scale)) && rows === this._rows) this._renewed();
    } catch (refusal) {
      this._tell(messageOf(refusal));
    }
  }

  /** Show what is new in the rows. */
  _renewed() {
    this._timeline.redraw();
    this._show();
  }

  async _refresh() {
    const rows = this._rows;
    const [first, last] = this._inSight;
    try {
      if ((await rows.refresh(first, last)) && rows === this._rows) this._renewed();
      this._line();
    } catch (refusal) {
      this._tell(messageOf(refusal));
    }
  }

  async _refreshPages() {
    await Promise.all([this._page.refresh(), this._operators.refresh()]);
  }

  /** The bars in the window, with the names of their rows. @returns {{ row: string, bar: Bar }[]} */
  _bars() {
    const rows = this._rows;
    const found = [];
    const last = Math.min(this._firstOfTable + TABLE_ROWS, rows.total);
    for (let number = this._firstOfTable; number < last; number++) {
      const row = rows.row(number);
      for (const bar of row?.bars ?? []) {
        if (bar.end > this._scale.start && bar.start < this._scale.end) found.push({ row: row?.name ?? "", bar });
      }
    }
    return found;
  }

  _table() {
    const rows = this._bars().map(({ row, bar }) => [
      row,
      button(nameOf(bar), () => this._open(bar), { class: "link" }),
      statusName(bar.status),
      shown(bar.start),
      shown(bar.end),
    ]);
    const empty = rows.length ? null : element("p", { class: "quiet" }, text("nothing"));
    return [table(["row", "lease", "status", "starts", "ends"], rows), ...(empty ? [empty] : []), this._pager()];
  }

  _pager() {
    const { total } = this._rows;
    const first = this._firstOfTable;
    const last = Math.min(first + TABLE_ROWS, total);
    const go = (/** @type {number} */ to) => {
      this._firstOfTable = to;
      this._show();
    };
    return element(
      "div",
      { class: "pager" },
      button("‹", () => go(Math.max(first - TABLE_ROWS, 0)), { "aria-label": text("previousRows"), disabled: first === 0 }),
      element("span", {}, text("rowsOf", { first: Math.min(first + 1, total), last, total })),
      button("›", () => go(first + TABLE_ROWS), { "aria-label": text("nextRows"), disabled: last >= total }),
    );
  }

  /** The leases by the days on which they start: for narrow screens. */
  _agenda() {
    const bars = this._bars().sort((one, other) => one.bar.start - other.bar.start);
    /** @type {Map<string, HTMLElement[]>} */
    const days = new Map();
    for (const { row, bar } of bars) {
      const day = date(Math.max(bar.start, this._scale.start));
      const item = element(
        "li",
        {},
        element(
          "button",
          { type: "button", class: `card ${bar.type} ${bar.status.toLowerCase()}`, on: { click: () => this._open(bar) } },
          element("strong", {}, nameOf(bar)),
          row !== nameOf(bar) && element("span", { class: "quiet" }, row),
          element("span", {}, `${shown(bar.start)} – ${shown(bar.end)}`),
          bar.status && element("span", { class: `chip ${bar.status.toLowerCase()}` }, statusName(bar.status)),
        ),
      );
      days.set(day, [...(days.get(day) ?? []), item]);
    }
    const found = [...days].map(([day, items]) =>
      element("section", { class: "day" }, element("h2", {}, day), element("ul", {}, ...items)),
    );
    const empty = found.length ? [] : [element("p", { class: "quiet" }, text("nothing"))];
    return [...found, ...empty, ...(this._rows.total > TABLE_ROWS ? [this._pager()] : [])];
  }

  /** What is held for the project, and the leases that wait in line. */
  async _line() {
    const [{ waitlist }, { offers }] = await Promise.all([
      this._api.get("waitlist").catch(() => ({ waitlist: [] })),
      this._api.get("offers").catch(() => ({ offers: [] })),
    ]);
    const changed = (/** @type {Parameters<import("./dates.js").Changed>} */ ...said) => this._changed(...said);
    const held = offers.slice(0, MOST_CHIPS).map((/** @type {any} */ each) =>
      button(offerName(each), () => openOffer(this._api, each, changed), { class: "chip held" }),
    );
    const waits = waitlist.slice(0, MOST_CHIPS).map((/** @type {any} */ each) =>
      button(`${each.position}. ${each.name}`, () => this._openId(each.lease_id, each.name), { class: "chip waiting" }),
    );
    this._waits.hidden = held.length + waits.length === 0;
    const heldCount = element("span", {}, text("heldCount", { count: offers.length }));
    const waitingCount = element("span", {}, text("waitingCount", { count: waitlist.length }));
    this._waits.replaceChildren(...(held.length ? [heldCount, ...held] : []), ...(waits.length ? [waitingCount, ...waits] : []));
  }

  // What is done

  /** @param {Bar} bar */
  _open(bar) {
    openLease(this._api, bar, (...said) => this._changed(...said));
  }

  /** @param {import("./create.js").Wish} wish */
  _create(wish) {
    const { host, ...dates } = wish;
    const mine = this._toOperators.hidden ? dates : wish;
    openCreation(this._api, mine, (...said) => this._changed(...said)).catch((failure) => this._tell(messageOf(failure)));
  }

  /** Ask whether what is being drawn would fit. @param {Drawing} drawing */
  _judge({ bar, row, dates, isByKey }) {
    if (isByKey) this._tell(interval(dates));
    this._dryRun.ask(() =>
      bar
        ? this._api.put(`leases/${bar.id}`, { ...changeOf(bar, dates), dry_run: true })
        : this._api.post("leases", { ...hostLease({ ...dates, requirement: row?.requirement }), dry_run: true }),
    );
  }

  /** @param {Drawing} drawing */
  _do({ bar, row, dates }) {
    this._undrawn();
    if (!bar) this._create({ ...dates, requirement: row?.requirement, host: hostOf(row) });
    else if (Object.keys(changeOf(bar, dates)).length) {
      changeDates(this._api, bar, dates, (...said) => this._changed(...said));
    }
  }

  _undrawn() {
    this._dryRun.forget();
    this._tell("");
  }

  /** @param {string} id @param {string} name */
  _openId(id, name) {
    this._open({ id, name, type: "lease", status: "", project: "", right: "", start: 0, end: 0, slots: 0, lane: 0, lanes: 1 });
  }

  /** @param {string} said @param {() => Promise<unknown>} [undo] */
  async _changed(said, undo) {
    this._tell(said, undo);
    await Promise.all([this._refresh(), this._refreshPages()]);
  }

  /** @param {string} said @param {() => Promise<unknown>} [undo] what was done */
  _tell(said, undo) {
    const back = () =>
      undo?.().then(
        (came) => this._changed(typeof came === "string" ? came : text("undone")),
        (refusal) => this._tell(messageOf(refusal)),
      );
    this._told.replaceChildren(said, ...(undo ? [" ", button(text("undo"), back, { class: "link" })] : []));
  }

  async _leave() {
    await this._session.end();
    this._events.left();
  }
}

/** @param {import("./rows.js").Row | undefined} row @returns {string} the name of its host; empty where it is none */
function hostOf(row) {
  return row?.requirement ? row.name : "";
}

customElements.define("blazar-calendar", Calendar);
