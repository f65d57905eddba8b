/**
 * The rows of the calendar, read as they come into sight: resources with what occupies them, or leases.
 *
 * Both read more time than is on the screen, so that moving a little asks for nothing, and ask again from time
 * to time for what has changed.
 */

import { Refused } from "./api.js";
import { DAY, MINUTE, parsed, wire } from "./moments.js";
import { kindName, nameOf, statusName } from "./texts.js";

/** @typedef {{ start: number, end: number, type: string, id: string, name: string, status: string, project: string, right: string, slots: number, lane: number, lanes: number }} Bar */
/** `right` is what the user's project may do with a lease of another one: empty where that does not share it. */
/** @typedef {{ id: string, name: string, trouble: string, requirement: string, bars: Bar[] }} Row `requirement` is what names the row's host; empty where it is none */
/** @typedef {{ label: string, first: number, rows: number }} Group */
/** @typedef {{ search: string, group: string, kind: string }} Filter */

const BLOCK = 50;
const MOST_BLOCKS = 40;
const LONGEST = 799 * DAY;
const PAGE = 1000;
const MOST_LEASES = 3000;
const MOST_SHARED_PAGES = 5;
const FIELDS = "id,name,status,start_date,end_date,project_id,reservations,shared_right";

/**
 * Give the bars of a row lanes, so that those at the same time do not cover each other.
 * @param {Bar[]} bars by start
 */
function layOut(bars) {
  /** @type {number[]} */
  const ends = [];
  for (const bar of bars) {
    let lane = ends.findIndex((end) => end <= bar.start);
    if (lane < 0) lane = ends.length;
    ends[lane] = bar.end;
    bar.lane = lane;
  }
  for (const bar of bars) bar.lanes = Math.max(ends.length, 1);
}

/** @param {import("./scale.js").Scale} scale @returns {[number, number]} that time and as much around it */
function around(scale) {
  const margin = Math.min(scale.span, Math.max((LONGEST - scale.span) / 2, 0));
  const floor = (/** @type {number} */ moment) => Math.floor(moment / MINUTE) * MINUTE;
  return [floor(scale.start - margin), floor(scale.end + margin)];
}

/** @param {{ from: number, to: number }} read @param {import("./scale.js").Scale} scale */
function covers(read, scale) {
  return read.from <= scale.start && read.to >= scale.end;
}

/** @typedef {{ from: number, to: number, tag: string, rows: Row[], query: Record<string, string | number> }} Block */

/** The rows of resources, in blocks. */
export class ResourceRows {
  /** @param {import("./api.js").Api} api @param {Filter} filter */
  constructor(api, filter) {
    this._api = api;
    this._filter = filter;
    /** @type {Map<number, Block>} */
    this._blocks = new Map();
    /** @type {Set<string>} */
    this._asking = new Set();
    this.total = 0;
    /** @type {Group[]} */
    this.groups = [];
    /** The kinds that reserve of the rows. @type {string[]} */
    this.kinds = [];
    this.leftOut = 0;
    this.isKnown = false;
  }

  /** @param {number} number @returns {Row | undefined} */
  row(number) {
    return this._blocks.get(Math.floor(number / BLOCK))?.rows[number % BLOCK];
  }

  /**
   * Read what is missing of the rows.
   * @param {number} first
   * @param {number} last
   * @param {import("./scale.js").Scale} scale
   * @returns {Promise<boolean>} whether anything is new
   */
  async load(first, last, scale) {
    const numbers = [];
    for (let n = Math.floor(first / BLOCK); n <= Math.floor(Math.max(last, first) / BLOCK); n++) numbers.push(n);
    const missing = numbers.filter((n) => {
      const known = this._blocks.get(n);
      return !known || !covers(known, scale);
    });
    const found = await Promise.all(missing.map((n) => this._read(n, scale)));
    return found.some(Boolean);
  }

  /** Ask whether the rows have changed. @param {number} first @param {number} last */
  async refresh(first, last) {
    let isNew = false;
    for (let n = Math.floor(first / BLOCK); n <= Math.floor(last / BLOCK); n++) {
      const known = this._blocks.get(n);
      if (!known) continue;
      const { body, tag } = await this._api.changed("timeline", known.query, known.tag);
      if (body && this._blocks.get(n) === known) {
        this._keep(n, { ...known, tag, rows: rowsOf(body.timeline) }, body.timeline);
        isNew = true;
      }
    }
    return isNew;
  }

  /** @param {number} number @param {import("./scale.js").Scale} scale */
  async _read(number, scale) {
    const [from, to] = around(scale);
    const key = `${number} ${from} ${to}`;
    if (this._asking.has(key)) return false;
    this._asking.add(key);
    try {
      const query = {
        start_date: wire(from),
        end_date: wire(to),
        first: number * BLOCK,
        rows: BLOCK,
        search: this._filter.search,
        group_by: this._filter.group,
        resource_type: this._filter.kind,
      };
      const { body, tag } = await this._api.changed("timeline", query);
      this._keep(number, { from, to, tag, rows: rowsOf(body.timeline), query }, body.timeline);
      return true;
    } finally {
      this._asking.delete(key);
    }
  }

  /** @param {number} number @param {Block} block @param {any} told */
  _keep(number, block, told) {
    this._blocks.delete(number);
    this._blocks.set(number, block);
    if (this._blocks.size > MOST_BLOCKS) this._blocks.delete(this._blocks.keys().next().value ?? 0);
    this.total = told.total;
    this.leftOut = told.left_out;
    this.kinds = told.groups.flatMap((/** @type {any} */ each) => each.resource_types);
    this.isKnown = true;
    this.groups = told.groups.map((/** @type {any} */ each) => ({
      label: [kindName(each.resource_types), each.value].filter(Boolean).join(" · "),
      first: each.first,
      rows: each.rows,
    }));
  }
}

/** @param {any} told a timeline in columns @param {number} number of a row */
function isHost(told, number) {
  const group = told.groups.find((/** @type {any} */ each) => number >= each.first && number < each.first + each.rows);
  return Boolean(group?.resource_types.includes("physical:host"));
}

/** @param {any} told a timeline in columns @returns {Row[]} */
function rowsOf(told) {
  const start = parsed(told.start_date);
  /** @type {Row[]} */
  const rows = told.rows.id.map((/** @type {string} */ id, /** @type {number} */ at) => ({
    id,
    name: told.rows.name[at],
    trouble: told.rows.trouble[at],
    requirement: isHost(told, told.first + at) ? JSON.stringify(["=", "$hypervisor_hostname", told.rows.name[at]]) : "",
    bars: [],
  }));
  const { row, occupant, start: starts, end: ends, slots } = told.bars;
  const { type, id, name, status, project_id, shared_right: right } = told.occupants;
  for (let at = 0; at < row.length; at++) {
    const who = occupant[at];
    rows[row[at]].bars.push({
      start: start + starts[at] * MINUTE,
      end: start + ends[at] * MINUTE,
      type: type[who],
      id: id[who],
      name: name[who],
      status: status[who],
      project: project_id[who],
      right: right[who],
      slots: slots[at],
      lane: 0,
      lanes: 1,
    });
  }
  for (const each of rows) layOut(each.bars);
  return rows;
}

/** What is shown of others where the rules, or a manager of the version before, refuse to tell. @param {unknown} refusal */
function none(refusal) {
  if (!(refusal instanceof Refused)) throw refusal;
  return { leases: [], goesOn: false };
}

/** What leases can be grouped by. */
export const LEASE_GROUPS = ["project", "status"];

/** The leases that the user may see, and those that other projects share, each in a row of its own. */
export class LeaseRows {
  /** @param {import("./api.js").Api} api @param {Filter} filter @param {Map<string, string>} projects their names by their ids */
  constructor(api, filter, projects) {
    this._api = api;
    this._filter = filter;
    this._projects = projects;
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Row[]} */
    this._rows = [];
    this._read = { from: 0, to: 0 };
    this._asks = 0;
    this.leftOut = 0;
    this.isCut = false;
    this.isKnown = false;
  }

  get total() {
    return this._rows.length;
  }

  /** @returns {string[]} */
  get kinds() {
    return [];
  }

  /** @param {number} number */
  row(number) {
    return this._rows[number];
  }

  /** @param {number} _first @param {number} _last @param {import("./scale.js").Scale} scale */
  async load(_first, _last, scale) {
    if (covers(this._read, scale)) return false;
    const [from, to] = around(scale);
    return this._ask(from, to);
  }

  async refresh() {
    return this._ask(this._read.from, this._read.to);
  }

  /** @param {number} from @param {number} to */
  async _ask(from, to) {
    const asked = ++this._asks;
    const query = {
      starts_before: wire(to),
      ends_after: wire(from),
      fields: FIELDS,
      limit: PAGE,
    };
    const [own, shared] = await Promise.all([
      this._pages({ ...query, sort: "start_date" }, MOST_LEASES / PAGE),
      // Those that were made last come first: a page may be empty where much that is shared is over.
      this._pages({ ...query, shared: "true", sort: "created_at:desc" }, MOST_SHARED_PAGES).catch(none),
    ]);
    if (asked !== this._asks) return false;
    this._read = { from, to };
    this.isCut = own.goesOn || shared.goesOn;
    this.isKnown = true;
    const known = new Set(own.leases.map(({ id }) => id));
    const leases = [...own.leases, ...shared.leases.filter(({ id }) => !known.has(id))];
    leases.sort((one, other) => parsed(one.start_date) - parsed(other.start_date));
    const wanted = this._filter.search.toLowerCase();
    const kind = this._filter.kind;
    this._rows = leases
      .filter((lease) => !kind || lease.reservations.some((/** @type {any} */ r) => r.resource_type === kind))
      .map(rowOf)
      .filter((row) => !wanted || `${row.name} ${row.bars[0].status} ${row.bars[0].project} ${this._groupOf(row, "project")}`.toLowerCase().includes(wanted));
    this._group();
    return true;
  }

  /**
   * @param {Record<string, string | number>} query
   * @param {number} most pages that are read
   * @returns {Promise<{ leases: any[], goesOn: boolean }>}
   */
  async _pages(query, most) {
    const leases = [];
    let marker = "";
    for (let page = 0; page === 0 || (marker && page < most); page++) {
      const body = await this._api.get("leases", { ...query, marker });
      leases.push(...body.leases);
      marker = markerOf(body.leases_links);
    }
    return { leases, goesOn: Boolean(marker) };
  }

  /** @param {Row} row @param {string} by */
  _groupOf({ bars: [{ status, project }] }, by) {
    return by === "status" ? statusName(status) : this._projects.get(project) ?? project;
  }

  /** Put the rows of a group together; within it they keep their order. */
  _group() {
    const by = this._filter.group;
    this.groups = [];
    if (!LEASE_GROUPS.includes(by)) return;
    /** @type {Map<string, Row[]>} */
    const found = new Map();
    for (const row of this._rows) {
      const label = this._groupOf(row, by);
      const rows = found.get(label) ?? [];
      rows.push(row);
      found.set(label, rows);
    }
    const groups = [...found].sort(([one], [other]) => one.localeCompare(other));
    this._rows = groups.flatMap(([, rows]) => rows);
    let first = 0;
    for (const [label, rows] of groups) {
      this.groups.push({ label, first, rows: rows.length });
      first += rows.length;
    }
  }
}

/** @param {any} links @returns {string} where the next page begins; empty at the end */
function markerOf(links) {
  const next = (links ?? []).find((/** @type {any} */ each) => each.rel === "next");
  return next ? new URL(next.href, location.href).searchParams.get("marker") ?? "" : "";
}

/** @param {any} lease @returns {Row} */
function rowOf(lease) {
  const bar = {
    start: parsed(lease.start_date),
    end: parsed(lease.end_date),
    type: "lease",
    id: lease.id,
    name: lease.name,
    status: lease.status,
    project: lease.project_id,
    right: lease.shared_right ?? "",
    slots: 0,
    lane: 0,
    lanes: 1,
  };
  return { id: lease.id, name: nameOf(bar), trouble: "", requirement: "", bars: [bar] };
}
