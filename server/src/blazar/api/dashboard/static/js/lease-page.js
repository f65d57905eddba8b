/** A lease's own page, with an address: all that is known of it, its feed, and forms for all that can be done to it. */

import { Refused } from "./api.js";
import { button, copyable, element, labelled } from "./element.js";
import { actions, facts, isChangeable, messageOf, section, tellResources } from "./lease.js";
import { parsed, shown } from "./moments.js";
import { seriesOfGone, seriesSection } from "./series.js";
import { text } from "./texts.js";

const MOST_FEEDS = 1000;

/** @typedef {import("./dates.js").Changed} Changed */

export class LeasePage extends HTMLElement {
  /** @param {import("./api.js").Api} api @param {Changed} changed */
  constructor(api, changed) {
    super();
    this._api = api;
    this._changed = changed;
    this._id = "";
    /** The lease and its series as they are shown, in words of the API. */
    this._shown = "";
    /** The series of the lease, and its day in it. @type {{ id: string, date: string } | null} */
    this._ofSeries = null;
    this._heading = element("h2", { tabindex: -1 });
    this._facts = element("div");
    this._acts = element("div", { class: "acts" });
    this._series = element("div");
    this._feed = element("div", { class: "feed" });
    this._parts = [this._facts, this._acts, this._series, this._feed];
    this._content = element("main", { class: "own-page" });
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this._content);
  }

  /** @param {string} id */
  async open(id) {
    this._id = id;
    this._shown = "";
    this._ofSeries = null;
    this._heading.textContent = text("loading");
    for (const part of this._parts) part.replaceChildren();
    const back = element("a", { href: "#" }, `‹ ${text("toCalendar")}`);
    this._content.replaceChildren(back, this._heading, ...this._parts);
    this._heading.focus();
    await this.refresh();
    if (this._shown) await this._tellFeeds();
  }

  /** Read the lease again; nothing of the page changes where it has not. */
  async refresh() {
    const id = this._id;
    if (this.hidden || !id) return;
    try {
      const { lease } = await this._api.get(`leases/${id}`);
      const known = lease.series_id && (await this._api.get(`series/${lease.series_id}`).catch(() => null));
      const told = JSON.stringify([lease, known]);
      if (id !== this._id || told === this._shown) return;
      this._shown = told;
      await this._show(lease, known?.series);
    } catch (refusal) {
      if (id !== this._id) return;
      if (refusal instanceof Refused && refusal.status === 404) {
        await this._showGone(id);
      } else {
        this._facts.replaceChildren(element("p", { role: "alert" }, messageOf(refusal)));
      }
      this._shown = "";
    }
  }

  /** Tell that the lease is no longer there; where it was one of a series, show the others. @param {string} id */
  async _showGone(id) {
    const name = this._shown && this._heading.textContent;
    const of = this._ofSeries;
    const known = of && (await this._api.get(`series/${of.id}`).catch(() => null));
    if (id !== this._id) return;
    this._id = "";
    this._heading.textContent = name ? text("leaseGone", { name }) : text("noLease");
    for (const part of this._parts) part.replaceChildren();
    if (of && known) this._series.replaceChildren(seriesOfGone(this._api, id, known.series, of.date, this._changed));
  }

  /** @param {any} lease @param {import("./series.js").Series} [series] */
  async _show(lease, series) {
    const here = series?.occurrences.find((each) => each.lease_id === lease.id);
    this._ofSeries = series && here ? { id: series.id, date: here.date } : null;
    this._heading.textContent = lease.name;
    document.title = `${lease.name} · ${text("title")}`;
    this._facts.replaceChildren(...facts(lease));
    /** @type {import("./lease.js").Close} */
    const close = (...said) => said.length && this._changed(...said);
    const acts = actions(this._api, lease, close, this._changed);
    this._acts.replaceChildren(...(acts.length ? [section("change", ...(isChangeable(lease) ? [this._renaming(lease)] : []), ...acts)] : []));
    this._series.replaceChildren(...(series ? [seriesSection(this._api, lease, series, this._changed)] : []));
    await tellResources(this._api, lease, this._facts);
  }

  /** @param {any} lease */
  _renaming(lease) {
    const name = element("input", { name: "name", required: true, maxlength: 80, value: lease.name });
    const told = element("p", { class: "told no", role: "status" });
    const put = (/** @type {string} */ wanted) => this._api.put(`leases/${lease.id}`, { name: wanted });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      put(name.value).then(
        () => this._changed(text("renamed", { name: name.value }), () => put(lease.name)),
        (refusal) => (told.textContent = messageOf(refusal)),
      );
    };
    const rename = element("button", { type: "submit" }, text("rename"));
    return element("form", { class: "actions", on: { submit } }, labelled(text("name"), name), rename, told);
  }

  /** Show the feeds of the lease, and what makes and revokes them. @param {string} [address] of one that was just made */
  async _tellFeeds(address = "") {
    const id = this._id;
    const told = element("p", { class: "told no", role: "status" });
    const refused = (/** @type {unknown} */ refusal) => (told.textContent = messageOf(refusal));
    const known = await this._api.get("feeds", { limit: MOST_FEEDS }).catch(() => null);
    if (id !== this._id) return;
    if (!known) {
      this._feed.replaceChildren();
      return;
    }
    const lines = known.feeds
      .filter((/** @type {any} */ feed) => feed.lease_id === id)
      .map((/** @type {any} */ feed) => {
        const said = text("feedOf", { name: feed.name, time: shown(parsed(feed.created_at)) });
        const gone = () => this._api.delete(`feeds/${feed.id}`).then(() => {
          this._changed(text("revoked"));
          return this._tellFeeds();
        }, refused);
        return element("li", {}, said, " ", button(text("revoke"), gone, { class: "danger", "aria-label": `${text("revoke")}: ${said}` }));
      });
    const make = button(text("makeFeed"), () => {
      const wanted = { scope: "lease", lease_id: id, name: this._heading.textContent };
      this._api.post("feeds", wanted).then(({ feed }) => this._tellFeeds(feed.url), refused);
    });
    const parts = [element("p", { class: "quiet" }, text("feedMeans"))];
    if (address) parts.push(element("p", { role: "status" }, text("feedMade")), copyable(address));
    if (lines.length) parts.push(element("ul", {}, ...lines));
    this._feed.replaceChildren(section("feed", ...parts, make, told));
  }
}

customElements.define("blazar-lease-page", LeasePage);
