/** The curve of what is free, on the same axis as the timeline, and in words for those who cannot see it. */

import { choice, element } from "./element.js";
import { DAY, MINUTE, parsed, wire } from "./moments.js";
import { text } from "./texts.js";

const LONGEST = 366 * DAY;
const PAUSE = 250;

/** @typedef {{ name: string, steps: { at: number, total: number, available: number }[] }} Quantity */

export class Curve extends HTMLElement {
  constructor() {
    super();
    /** @type {Quantity[]} */
    this._quantities = [];
    this._name = "";
    this._read = { from: 0, to: 0, end: 0 };
    this._waits = 0;
    this._key = "";
  }

  connectedCallback() {
    if (this.firstChild) return;
    this._choice = element("span", { class: "name" });
    this._canvas = element("canvas", { role: "img" });
    this.append(this._choice, element("div", { class: "plot" }, this._canvas));
    new ResizeObserver(() => this._draw()).observe(this);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this._draw());
  }

  /**
   * @param {import("./api.js").Api} api
   * @param {import("./scale.js").Scale} scale
   * @param {string} kind
   */
  show(api, scale, kind) {
    this._scale = scale;
    this._draw();
    const from = Math.max(scale.start - scale.span, Date.now());
    const to = Math.min(scale.end + scale.span, from + LONGEST);
    const isKnown = this._key === kind && this._api === api && this._read.from <= Math.max(scale.start, Date.now()) &&
      this._read.to >= Math.min(scale.end, this._read.from + LONGEST);
    if (isKnown && Date.now() < this._read.end) return;
    clearTimeout(this._waits);
    this._waits = window.setTimeout(() => this._ask(api, from, to, kind), PAUSE);
  }

  /** @param {import("./api.js").Api} api @param {number} from @param {number} to @param {string} kind */
  async _ask(api, from, to, kind) {
    if (to <= from + MINUTE) {
      this._quantities = [];
    } else {
      const query = { start_date: wire(from), end_date: wire(to), resource_type: kind };
      const body = await api.get("capacity", query).catch(() => null);
      this._quantities = (body?.capacity.quantities ?? []).map(quantityOf);
    }
    this._api = api;
    this._key = kind;
    this._read = { from, to, end: Date.now() + MINUTE };
    this._drawChoice();
    this._draw();
  }

  get _quantity() {
    return this._quantities.find((each) => each.name === this._name) ?? this._quantities[0];
  }

  _drawChoice() {
    const names = Object.fromEntries(this._quantities.map((each) => [each.name, words(each.name)]));
    const chosen = this._quantity?.name ?? "";
    const made = choice(names, chosen, (name) => {
      this._name = name;
      this._draw();
    }, { "aria-label": text("freeCurve") });
    this._choice.replaceChildren(element("span", {}, text("freeCurve")), ...(chosen ? [made] : []));
  }

  _draw() {
    const scale = this._scale;
    if (!scale || !this._canvas) return;
    const quantity = this._quantity;
    this._canvas.setAttribute("aria-label", quantity ? said(quantity, scale) : text("noCapacity"));
    const { clientWidth: width, clientHeight: height } = this._canvas.parentElement;
    const ratio = devicePixelRatio;
    this._canvas.width = width * ratio;
    this._canvas.height = height * ratio;
    const pen = this._canvas.getContext("2d");
    if (!quantity || !pen) return;
    pen.scale(ratio, ratio);
    const style = getComputedStyle(this._canvas);
    const most = Math.max(1, ...quantity.steps.map((step) => step.total));
    const x = (/** @type {number} */ at) => Math.min(Math.max(scale.place(at), -0.01), 1.01) * width;
    const y = (/** @type {number} */ value) => height - 1 - (value / most) * (height - 6);
    const end = Math.min(this._read.to, scale.end + scale.span);
    pen.beginPath();
    pen.moveTo(x(quantity.steps[0].at), height);
    each(quantity, end, (from, to, step) => {
      pen.lineTo(x(from), y(step.available));
      pen.lineTo(x(to), y(step.available));
    });
    pen.lineTo(x(end), height);
    pen.fillStyle = style.fill;
    pen.fill();
    pen.beginPath();
    each(quantity, end, (from, to, step) => {
      pen.lineTo(x(from), y(step.available));
      pen.lineTo(x(to), y(step.available));
    });
    pen.strokeStyle = style.stroke;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.beginPath();
    each(quantity, end, (from, to, step) => {
      pen.moveTo(x(from), y(step.total));
      pen.lineTo(x(to), y(step.total));
    });
    pen.strokeStyle = style.color;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.stroke();
  }
}

/** @param {Quantity} quantity @param {number} end @param {(from: number, to: number, step: any) => void} draw */
function each(quantity, end, draw) {
  quantity.steps.forEach((step, at) => draw(step.at, quantity.steps[at + 1]?.at ?? end, step));
}

/** @param {any} told @returns {Quantity} */
function quantityOf(told) {
  const steps = told.steps.map((/** @type {any} */ step) => ({
    at: parsed(step.from),
    total: step.total,
    available: step.available,
  }));
  return { name: told.name, steps };
}

/** @param {Quantity} quantity @param {import("./scale.js").Scale} scale */
function said(quantity, scale) {
  const inSight = quantity.steps.filter((step, at) => {
    const end = quantity.steps[at + 1]?.at ?? Infinity;
    return step.at < scale.end && end > scale.start;
  });
  const least = Math.min(...(inSight.length ? inSight : quantity.steps).map((step) => step.available));
  const { available: free, total } = quantity.steps[0];
  return text("ofTotal", { free, total, least, quantity: words(quantity.name) });
}

/** @param {string} name */
function words(name) {
  return name.replaceAll("_", " ");
}

customElements.define("blazar-curve", Curve);
