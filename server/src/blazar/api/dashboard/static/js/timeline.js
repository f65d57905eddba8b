/**
 * The timeline: a grid whose rows are made as they come into sight, with a button for each bar.
 *
 * The keys are those of a grid: one cell is in the tab order, arrows move to others. What is on the screen is
 * drawn once a frame at most.
 */

import { DRAG, Shadow, between, followed, meant, movable, moved, partAt } from "./drawing.js";
import { element } from "./element.js";
import { DAY, later, shown } from "./moments.js";
import { Scale } from "./scale.js";
import { nameOf, statusName, text } from "./texts.js";

export const ROW = 36;
const SPARE = 6;
const NAME = -1;
const LABELLED = 34;

/** @typedef {import("./rows.js").Bar} Bar */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./drawing.js").Part} Part */
/** @typedef {import("./rows.js").ResourceRows | import("./rows.js").LeaseRows} Rows */
/** @typedef {{ node: HTMLElement, key: string }} Drawn */

export class Timeline extends HTMLElement {
  constructor() {
    super();
    this.scale = new Scale(0, 1);
    /** @type {Rows | null} */
    this.rows = null;
    this.project = "";
    /** The row and the bar that the keys act on. */
    this._active = { row: 0, bar: NAME };
    this._wantsFocus = false;
    this._isStale = false;
    this._dragged = false;
    this._isTouched = false;
    /** @type {Shadow | null} What is being drawn. */
    this._shadow = null;
    /** What the keys have taken hold of. @type {{ drawing: import("./drawing.js").Drawing & { bar: Bar }, part: Part } | null} */
    this._held = null;
    this._width = 0;
    this._frame = 0;
    /** @type {Map<number, Drawn>} */
    this._drawn = new Map();
  }

  connectedCallback() {
    if (this.firstChild) return;
    this._axis = element("div", {
      class: "axis",
      "aria-hidden": "true",
      on: { pointerdown: (/** @type {PointerEvent} */ event) => this._pan(event) },
    });
    this._now = element("div", { class: "now", "aria-hidden": "true" });
    this._body = element("div", { class: "rows", role: "rowgroup" });
    this._grid = element(
      "div",
      {
        class: "grid",
        role: "grid",
        "aria-label": text("grid"),
        "aria-colcount": 2,
        on: {
          scroll: () => this.draw(),
          keydown: (/** @type {KeyboardEvent} */ event) => this._key(event),
          focusin: (/** @type {FocusEvent} */ event) => this._focused(event),
          focusout: (/** @type {FocusEvent} */ event) => event.relatedTarget && this._letGo(false),
          wheel: (/** @type {WheelEvent} */ event) => this._wheel(event),
          pointerdown: (/** @type {PointerEvent} */ event) => this._press(event),
          // A finger that rests takes hold of something, and asks for no menu.
          contextmenu: (/** @type {Event} */ event) => this._isTouched && event.preventDefault(),
        },
      },
      this._body,
    );
    this.append(this._axis, this._grid, this._now);
    new ResizeObserver(() => this.draw()).observe(this);
  }

  /** @param {Rows} rows @param {Scale} scale @param {string} project whose leases are the user's own */
  show(rows, scale, project) {
    if (rows !== this.rows) {
      this._active = { row: 0, bar: NAME };
      this._grid.scrollTop = 0;
      this._forget();
    }
    this.rows = rows;
    this.scale = scale;
    this.project = project;
    this.draw();
  }

  /** The numbers of the first and the last row in sight. @returns {[number, number]} */
  get inSight() {
    const top = this._grid.scrollTop;
    return [this._rowAt(top), this._rowAt(top + this._grid.clientHeight)];
  }

  /** Draw everything at the next frame. */
  draw() {
    this._frame ||= requestAnimationFrame(() => {
      this._frame = 0;
      this._draw();
    });
  }

  /** Draw all rows anew at the next frame: they have changed. */
  redraw() {
    this._isStale = true;
    this.draw();
  }

  _forget() {
    for (const { node } of this._drawn.values()) node.remove();
    this._drawn.clear();
  }

  // Places: each group has a line of its own above its rows.

  /** @param {number} row @returns {number} the line of a row, from 0 on */
  _line(row) {
    const groups = this.rows?.groups ?? [];
    let before = 0;
    while (before < groups.length && groups[before].first <= row) before++;
    return row + before;
  }

  /** @param {number} y @returns {number} the row at this height, or the next one */
  _rowAt(y) {
    const rows = this.rows;
    if (!rows || rows.total === 0) return 0;
    const line = Math.floor(y / ROW);
    let before = 0;
    while (before < rows.groups.length && rows.groups[before].first + before <= line) before++;
    return Math.min(Math.max(line - before, 0), rows.total - 1);
  }

  // Drawing

  _draw() {
    const rows = this.rows;
    if (!rows || !this.isConnected) return;
    if (this._isStale) {
      this._isStale = false;
      this._wantsFocus ||= this._body.contains(document.activeElement);
      this._forget();
    }
    const lines = rows.total + rows.groups.length;
    const [first, last] = this.inSight;
    this._grid.setAttribute("aria-rowcount", String(lines));
    this._body.style.height = `${lines * ROW}px`;
    this._drawAxis();
    const from = Math.max(first - SPARE, 0);
    const to = Math.min(last + SPARE, rows.total - 1);
    const wanted = new Map();
    for (let row = from; row <= to; row++) wanted.set(row, this._rowNode(row));
    rows.groups.forEach((group, at) => {
      if (group.first + group.rows > from && group.first <= to + 1) wanted.set(-1 - at, this._groupNode(at));
    });
    const active = this._active.row;
    if (this._drawn.has(active) && active < rows.total && !wanted.has(active) && this._holdsFocus(active)) {
      wanted.set(active, this._rowNode(active));
    }
    for (const [key, { node }] of this._drawn) if (!wanted.has(key)) node.remove();
    this._drawn = wanted;
    this._keepOneInTabOrder();
    this.dispatchEvent(new CustomEvent("sight", { detail: [from, Math.max(to, 0)] }));
  }

  /** @param {number} row */
  _holdsFocus(row) {
    return this._drawn.get(row)?.node.contains(document.activeElement) ?? false;
  }

  _drawAxis() {
    // Read once a frame, before anything is written: each later look would lay out all rows again.
    const width = (this._width = this._axis.clientWidth);
    const ticks = this.scale.ticks(width);
    const labels = ticks.map((tick) => {
      const node = element("span", { class: tick.isMajor ? "tick major" : "tick" }, tick.text);
      node.style.left = percent(this.scale.place(tick.at));
      return node;
    });
    this._axis.replaceChildren(...labels);
    this.style.setProperty("--ticks", lines(this.scale, ticks));
    const now = this.scale.place(Date.now());
    this._now.hidden = now < 0 || now > 1;
    this._now.style.left = `${this._axis.offsetLeft + now * width}px`;
  }

  /** @param {number} at @returns {Drawn} */
  _groupNode(at) {
    const group = /** @type {Rows} */ (this.rows).groups[at];
    const key = `${group.label} ${group.first} ${group.rows}`;
    const known = this._drawn.get(-1 - at);
    if (known?.key === key) return known;
    known?.node.remove();
    const line = group.first + at;
    const node = element(
      "div",
      { class: "row group", role: "row", "aria-rowindex": line + 1 },
      element("div", { role: "rowheader", "aria-colspan": 2 }, group.label, element("small", {}, String(group.rows))),
    );
    node.style.top = `${line * ROW}px`;
    this._body.append(node);
    return { node, key };
  }

  /** @param {number} number @returns {Drawn} */
  _rowNode(number) {
    const row = this.rows?.row(number);
    const line = this._line(number);
    const key = `${line} ${row?.id ?? ""}`;
    let known = this._drawn.get(number);
    if (known?.key !== key) {
      known?.node.remove();
      known = { node: this._made(number, line, row), key };
      this._body.append(known.node);
    }
    if (row) this._place(known.node, row);
    return known;
  }

  /** @param {number} number @param {number} line @param {Row | undefined} row */
  _made(number, line, row) {
    const trouble = row?.trouble ? text("trouble", { reason: row.trouble }) : "";
    const node = element(
      "div",
      { class: row ? "row" : "row loading", role: "row", "aria-rowindex": line + 1, "data-row": number },
      element(
        "div",
        { class: "name", role: "rowheader", tabindex: -1, "data-bar": NAME, title: trouble || row?.name },
        element("span", {}, row?.name ?? text("loading")),
        trouble && element("span", { class: "trouble" }, element("span", { class: "unseen" }, trouble)),
      ),
      element("div", { class: "plot", role: "gridcell" }),
    );
    node.style.top = `${line * ROW}px`;
    return node;
  }

  /** Put the bars of a row where they are now. @param {HTMLElement} node @param {Row} row */
  _place(node, row) {
    const plot = /** @type {HTMLElement} */ (node.lastChild);
    /** @type {Map<string | undefined, HTMLElement>} */
    const known = new Map();
    for (const each of /** @type {any} */ (plot.children)) known.set(each.dataset.bar, each);
    const width = this._width;
    row.bars.forEach((bar, at) => {
      const key = String(at);
      const isSeen = bar.end > this.scale.start && bar.start < this.scale.end;
      if (!isSeen) return;
      const drawn = known.get(key) ?? plot.appendChild(this._barNode(bar, at));
      known.delete(key);
      const left = Math.max(this.scale.place(bar.start), 0);
      const right = Math.min(this.scale.place(bar.end), 1);
      drawn.style.left = percent(left);
      drawn.style.width = percent(right - left);
      drawn.classList.toggle("before", bar.start < this.scale.start);
      drawn.classList.toggle("after", bar.end > this.scale.end);
      drawn.classList.toggle("narrow", (right - left) * width < LABELLED || bar.lanes > 2);
    });
    for (const each of known.values()) each.remove();
  }

  /** @param {Bar} bar @param {number} at @returns {HTMLElement} */
  _barNode(bar, at) {
    const name = nameOf(bar);
    const status = bar.type === "lease" && bar.status ? statusName(bar.status) : name;
    const isOwn = bar.id && bar.project === this.project;
    const whose = [isOwn ? "own" : "", bar.right ? "shared" : ""];
    const label = text("barSays", { name, status, start: shown(bar.start), end: shown(bar.end) });
    const node = element(
      "button",
      {
        type: "button",
        class: ["bar", bar.type, ...whose, bar.status.toLowerCase(), ...movable(bar, this.project)].filter(Boolean).join(" "),
        tabindex: -1,
        "data-bar": at,
        "aria-label": label,
        title: label,
        on: { click: () => this._open(bar) },
      },
      element("span", {}, name),
    );
    node.style.setProperty("--lane", String(bar.lane));
    node.style.setProperty("--lanes", String(bar.lanes));
    return node;
  }

  /** @param {Bar} bar */
  _open(bar) {
    if (!this._dragged) this.dispatchEvent(new CustomEvent("open", { detail: bar }));
  }

  // Keys

  /** @returns {HTMLElement | null} */
  get _activeCell() {
    const { row, bar } = this._active;
    const node = this._drawn.get(row)?.node;
    return node?.querySelector(`[data-bar="${bar}"]`) ?? node?.querySelector(`[data-bar="${NAME}"]`) ?? null;
  }

  _keepOneInTabOrder() {
    const cell = this._activeCell ?? this._body.querySelector("[data-bar]");
    for (const each of this._body.querySelectorAll('[tabindex="0"]')) if (each !== cell) each.tabIndex = -1;
    if (cell) cell.tabIndex = 0;
    if (this._wantsFocus && this._activeCell) {
      this._wantsFocus = false;
      this._activeCell.focus({ preventScroll: true });
    }
  }

  /** @param {FocusEvent} event */
  _focused(event) {
    const cell = /** @type {HTMLElement} */ (event.target).closest("[data-bar]");
    const row = /** @type {HTMLElement | null} */ (cell?.closest("[data-row]"));
    if (!cell || !row) return;
    this._active = { row: Number(row.dataset.row), bar: Number(/** @type {HTMLElement} */ (cell).dataset.bar) };
    this._keepOneInTabOrder();
  }

  /** @param {number} row @param {number} bar */
  _go(row, bar) {
    const total = this.rows?.total ?? 0;
    this._active = { row: Math.min(Math.max(row, 0), Math.max(total - 1, 0)), bar };
    const top = this._line(this._active.row) * ROW;
    const grid = this._grid;
    if (top < grid.scrollTop + ROW) grid.scrollTop = Math.max(top - ROW, 0);
    if (top + 2 * ROW > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + 2 * ROW - grid.clientHeight;
    this._wantsFocus = true;
    this.draw();
  }

  /** @param {1 | -1} step @param {number} [from] */
  _goToBar(step, from = this._active.bar) {
    const bars = this.rows?.row(this._active.row)?.bars ?? [];
    let next = from + step;
    const isSeen = (/** @type {Bar} */ bar) => bar.end > this.scale.start && bar.start < this.scale.end;
    while (next > NAME && next < bars.length && !isSeen(bars[next])) next += step;
    if (next >= NAME && next < bars.length) this._go(this._active.row, next);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (event.altKey || event.metaKey) return;
    if (this._held && this._keyOfHeld(event)) return;
    const { row } = this._active;
    const page = Math.max(Math.floor(this._grid.clientHeight / ROW) - 2, 1);
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowDown: () => this._go(row + 1, NAME),
      ArrowUp: () => this._go(row - 1, NAME),
      ArrowRight: () => this._goToBar(1),
      ArrowLeft: () => this._goToBar(-1),
      PageDown: () => this._go(row + page, NAME),
      PageUp: () => this._go(row - page, NAME),
      Home: () => this._go(event.ctrlKey ? 0 : row, NAME),
      End: () =>
        event.ctrlKey ? this._go(Infinity, NAME) : this._goToBar(-1, this.rows?.row(row)?.bars.length ?? 0),
      "+": () => this._scaled(this.scale.stepped(-1)),
      "=": () => this._scaled(this.scale.stepped(-1)),
      "-": () => this._scaled(this.scale.stepped(1)),
      "[": () => this._scaled(this.scale.moved(-0.5)),
      "]": () => this._scaled(this.scale.moved(0.5)),
      t: () => this.dispatchEvent(new CustomEvent("now")),
      n: () => this.dispatchEvent(new CustomEvent("new", { detail: this.rows?.row(row) })),
      m: () => this._take("both"),
      s: () => this._take("start"),
      e: () => this._take("end"),
    };
    const act = acts[event.key];
    if (!act || (event.ctrlKey && !["Home", "End"].includes(event.key))) return;
    event.preventDefault();
    act();
  }

  /** Take hold of a part of the bar that has the focus. @param {Part} part */
  _take(part) {
    const row = this.rows?.row(this._active.row);
    const bar = row?.bars[this._active.bar];
    if (!bar || !movable(bar, this.project).includes(part)) return;
    this._shadow = new Shadow(this._body, this._line(this._active.row) * ROW);
    this._held = { part, drawing: { bar, row, dates: { start: bar.start, end: bar.end } } };
    this._showHeld();
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether the key does something to what is held */
  _keyOfHeld(event) {
    const held = this._held;
    if (!held) return false;
    const step = this.scale.step(this._width);
    const far = event.shiftKey ? DAY : step;
    const by = { ArrowLeft: -far, ArrowRight: far }[event.key];
    if (by) {
      const edge = held.part === "end" ? held.drawing.dates.end : held.drawing.dates.start;
      held.drawing.dates = moved(held.drawing.dates, held.part, later(edge, by) - edge, step);
      this._showHeld();
    } else if (event.key === "Enter" || event.key === "Escape") this._letGo(event.key === "Enter");
    else return false;
    event.preventDefault();
    return true;
  }

  /** Show what is held where it would be, and bring it into sight. */
  _showHeld() {
    const held = this._held;
    if (!held) return;
    const { dates } = held.drawing;
    const edge = this.scale.place(held.part === "end" ? dates.end : dates.start);
    if (edge < 0 || edge > 1) this._scaled(this.scale.moved(edge - 0.5));
    this._shadow?.show(dates, this.scale);
    this.dispatchEvent(new CustomEvent("drawing", { detail: { ...held.drawing, isByKey: true } }));
  }

  /** @param {boolean} isMeant */
  _letGo(isMeant) {
    if (!this._held) return;
    const { drawing } = this._held;
    this._held = null;
    this._shadow?.remove();
    this._shadow = null;
    this.dispatchEvent(new CustomEvent(isMeant ? "drawn" : "undrawn", { detail: drawing }));
  }

  // Pointer

  /** @param {Scale} scale */
  _scaled(scale) {
    this.scale = scale;
    if (this._held) this._shadow?.show(this._held.drawing.dates, scale);
    this.draw();
    this.dispatchEvent(new CustomEvent("scale", { detail: scale }));
  }

  /** @param {WheelEvent} event */
  _wheel(event) {
    const plot = this._axis.getBoundingClientRect();
    if (event.ctrlKey) {
      event.preventDefault();
      const place = Math.min(Math.max((event.clientX - plot.left) / plot.width, 0), 1);
      this._scaled(this.scale.zoomed(this.scale.span * Math.exp(event.deltaY / 300), place));
      return;
    }
    const x = event.shiftKey && !event.deltaX ? event.deltaY : event.deltaX;
    if (Math.abs(x) <= Math.abs(event.shiftKey ? 0 : event.deltaY)) return;
    event.preventDefault();
    this._scaled(this.scale.moved(x / plot.width));
  }

  /** Move the time with the pointer. @param {PointerEvent} event */
  _pan(event) {
    if (event.button !== 0) return;
    const width = this._axis.clientWidth;
    const before = this.scale;
    const follow = (/** @type {number} */ x) => this._scaled(before.moved((event.clientX - x) / width));
    followed(event, follow, (isMeant) => isMeant || this._scaled(before));
  }

  /** @param {PointerEvent} event */
  _press(event) {
    this._dragged = false;
    this._isTouched = event.pointerType === "touch";
    this._letGo(false);
    if (event.button !== 0 || !event.isPrimary) return;
    if (!this._isTouched) this._grab(event);
    else meant(event, () => this._grab(event), () => this._swipe(event));
  }

  /** @param {PointerEvent} event */
  _swipe(event) {
    this._dragged = true;
    this._pan(event);
  }

  /** Draw a new lease with the pointer, or move one, or pull at its end. @param {PointerEvent} event */
  _grab(event) {
    const isFinger = this._isTouched;
    const target = /** @type {HTMLElement} */ (event.target);
    const line = /** @type {HTMLElement | null} */ (target.closest(".row[data-row]"));
    const row = line ? this.rows?.row(Number(line.dataset.row)) : undefined;
    const bar = this._barAt(target, row);
    const datesAt = this._grabbed(event, target, bar);
    if (!datesAt) {
      // It stays; letting go of it is no click all the same.
      followed(event, () => (this._dragged = true), () => {});
      return;
    }
    const top = line ? this._line(Number(line.dataset.row)) * ROW : event.clientY - this._body.getBoundingClientRect().top - ROW / 2;
    let dates = { start: 0, end: 0 };
    const follow = (/** @type {number} */ x) => {
      this._dragged = true;
      const now = datesAt(x);
      if (now.start === dates.start && now.end === dates.end) return;
      dates = now;
      this._shadow ??= new Shadow(this._body, top);
      this._shadow.show(dates, this.scale);
      this.dispatchEvent(new CustomEvent("drawing", { detail: { bar, row, dates } }));
    };
    if (isFinger) follow(event.clientX);
    followed(event, follow, (isMeant) => {
      this._shadow?.remove();
      this._shadow = null;
      this.dispatchEvent(new CustomEvent(isMeant ? "drawn" : "undrawn", { detail: { bar, row, dates } }));
    }, isFinger);
  }

  /** @param {HTMLElement} target @param {Row | undefined} row @returns {Bar | null} */
  _barAt(target, row) {
    const node = /** @type {HTMLElement | null} */ (target.closest(".bar"));
    return (node && row?.bars[Number(node.dataset.bar)]) ?? null;
  }

  /**
   * @param {PointerEvent} event
   * @param {HTMLElement} target
   * @param {Bar | null} bar
   * @returns {((x: number) => import("./drawing.js").Dates) | undefined} the dates by where the pointer is;
   *   nothing for a bar that may not be moved
   */
  _grabbed(event, target, bar) {
    const { left, width } = this._axis.getBoundingClientRect();
    const at = (/** @type {number} */ x) => this.scale.moment((x - left) / width);
    const step = this.scale.step(width);
    if (event.clientX < left) return undefined;
    if (!bar) return (x) => between(at(event.clientX), at(x), step);
    const box = /** @type {HTMLElement} */ (target.closest(".bar")).getBoundingClientRect();
    // An end that is not on the screen cannot be pulled at.
    const cut = { start: bar.start < this.scale.start, end: bar.end > this.scale.end, both: false };
    const part = partAt(movable(bar, this.project).filter((each) => !cut[each]), event.clientX, box, this._isTouched);
    if (!part) return undefined;
    // Where it was taken it is as it was: dates in whole steps would be others.
    const isThere = (/** @type {number} */ x) => Math.abs(x - event.clientX) <= DRAG;
    return (x) => (isThere(x) ? { start: bar.start, end: bar.end } : moved(bar, part, at(x) - at(event.clientX), step));
  }

  /** Show whether what is being drawn would fit. @param {boolean} fits */
  judge(fits) {
    this._shadow?.judge(fits);
  }
}

/** @param {number} place */
function percent(place) {
  return `${(place * 100).toFixed(4)}%`;
}

/** The ticks as a background, which costs no element. @param {Scale} scale @param {import("./scale.js").Tick[]} ticks */
function lines(scale, ticks) {
  const stops = ticks.flatMap((tick) => {
    const at = percent(scale.place(tick.at));
    const color = tick.isMajor ? "var(--line-strong)" : "var(--line)";
    return [`transparent ${at}`, `${color} ${at}`, `${color} calc(${at} + 1px)`, `transparent calc(${at} + 1px)`];
  });
  return stops.length ? `linear-gradient(to right, ${stops.join(", ")})` : "none";
}

customElements.define("blazar-timeline", Timeline);
