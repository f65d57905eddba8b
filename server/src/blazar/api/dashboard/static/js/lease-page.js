/** A lease's own page, with an address: all that is known of it, its feed, and forms for all that can be done to it. */

import { Refused } from "./api.js";
import { button, copyable, element, labelled } from "./element.js";
import { actions, facts, messageOf, section, tellResources } from "./lease.js";
import { parsed, shown } from "./moments.js";
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
    /** The lease as it is shown, in words of the API. */
    this._shown = "";
    this._heading = element("h2", { tabindex: -1 });
    this._facts = element("div");
    this._acts = element("div", { class: "acts" });
    this._feed = element("div", { class: "feed" });
    this._content = element("main", { class: "own-page" });
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this._content);
  }

  /** @param {string} id */
  async open(id) {
    this._id = id;
    this._shown = "";
    this._heading.textContent = text("loading");
    for (const part of [this._facts, this._acts, this._feed]) part.replaceChildren();
    const back = element("a", { href: "#" }, `‹ ${text("toCalendar")}`);
    this._content.replaceChildren(back, this._heading, this._facts, this._acts, this._feed);
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
      if (id === this._id && JSON.stringify(lease) !== this._shown) await this._show(lease);
    } catch (refusal) {
      if (id !== this._id) return;
      if (refusal instanceof Refused && refusal.status === 404) {
        const name = this._shown && this._heading.textContent;
        this._heading.textContent = name ? text("leaseGone", { name }) : text("noLease");
        for (const part of [this._facts, this._acts, this._feed]) part.replaceChildren();
        this._id = "";
      } else {
        this._facts.replaceChildren(element("p", { role: "alert" }, messageOf(refusal)));
      }
      this._shown = "";
    }
  }

  /** @param {any} lease */
  async _show(lease) {
    this._shown = JSON.stringify(lease);
    this._heading.textContent = lease.name;
    document.title = `${lease.name} · ${text("title")}`;
    this._facts.replaceChildren(...facts(lease));
    /** @type {import("./lease.js").Close} */
    const close = (...said) => said.length && this._changed(...said);
    const acts = actions(this._api, lease, close, this._changed);
    this._acts.replaceChildren(...(acts.length ? [section("change", this._renaming(lease), ...acts)] : []));
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
