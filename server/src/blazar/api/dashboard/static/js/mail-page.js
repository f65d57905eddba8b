/** What the user is told by mail of leases, and the form in which this is chosen. */

import { button, element } from "./element.js";
import { messageOf, section } from "./lease.js";
import { MAILED, mailedName, text } from "./texts.js";

/** @typedef {{ enabled: boolean, events: string[], chosen: boolean, daily: boolean, daily_hour: number }} Mail */

export class MailPage extends HTMLElement {
  /** @param {import("./api.js").Api} api @param {import("./dates.js").Changed} changed */
  constructor(api, changed) {
    super();
    this._api = api;
    this._changed = changed;
    this._heading = element("h2", { tabindex: -1 }, text("mail"));
    this._chosen = element("div");
    const back = element("a", { href: "#" }, `‹ ${text("toCalendar")}`);
    this._content = element("main", { class: "own-page" }, back, this._heading, this._chosen);
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this._content);
  }

  async open() {
    document.title = `${text("mail")} · ${text("title")}`;
    this._chosen.replaceChildren();
    this._heading.focus();
    try {
      this._show((await this._api.get("mail")).mail);
    } catch (refusal) {
      this._chosen.replaceChildren(element("p", { role: "alert" }, messageOf(refusal)));
    }
  }

  /** @param {Mail} mail */
  _show(mail) {
    const told = element("p", { class: "told no", role: "status" });
    const events = [...new Set([...MAILED, ...mail.events])].map((word) => box(mailedName(word), mail.events.includes(word), word));
    const hour = `${String(mail.daily_hour).padStart(2, "0")}:00 UTC`;
    const daily = box(text("mailDaily", { hour }), mail.daily, "daily");
    const put = (/** @type {Record<string, unknown>} */ wanted) =>
      this._api.put("mail", wanted).then(
        (answer) => {
          this._show(answer.mail);
          this._changed(text("mailChosen"));
        },
        (refusal) => (told.textContent = messageOf(refusal)),
      );
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      const wanted = events.map(input).filter((each) => each.checked).map((each) => each.value);
      put({ events: wanted, daily: input(daily).checked });
    };
    const usual = button(text("mailUsual"), () => put({ events: null, daily: input(daily).checked }), { disabled: !mail.chosen });
    this._chosen.replaceChildren(
      element("p", { class: mail.enabled ? "quiet" : "warning" }, text(mail.enabled ? "mailMeans" : "mailOff")),
      element(
        "form",
        { on: { submit } },
        section("mailEvents", element("ul", { class: "boxes" }, ...events.map((each) => element("li", {}, each)))),
        section("mailWhen", daily),
        element("footer", { class: "actions" }, element("button", { type: "submit", class: "primary" }, text("save")), usual),
        told,
      ),
    );
  }
}

/** A box to tick, with its label. @param {string} label @param {boolean} checked @param {string} value @returns {HTMLElement} */
function box(label, checked, value) {
  return element("label", { class: "box" }, element("input", { type: "checkbox", checked, value }), ` ${label}`);
}

/** @param {HTMLElement} label @returns {HTMLInputElement} */
function input(label) {
  return /** @type {HTMLInputElement} */ (label.firstChild);
}

customElements.define("blazar-mail", MailPage);
