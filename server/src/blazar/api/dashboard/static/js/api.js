/** The reservation API, as the page asks it: of the same origin, beside the page's folder. */

import { text } from "./texts.js";

const ROOT = new URL("../..", import.meta.url);
const VERSION = "reservation 1.43";

/** A refusal, in the API's own words. */
export class Refused extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.error_message ?? String(status));
    this.status = status;
    this.body = body;
  }
}

export class Api {
  /** @param {import("./keystone.js").Session} session @param {() => void} expired what to do without a valid token */
  constructor(session, expired) {
    this._token = session.token;
    this._expired = expired;
  }

  /** @param {string} path @param {Record<string, string | number>} [query] */
  async get(path, query = {}) {
    return (await this.changed(path, query)).body;
  }

  /**
   * Ask again for what may have changed.
   * @param {string} path
   * @param {Record<string, string | number>} query
   * @param {string} [tag] of the last answer
   * @returns {Promise<{ body: any, tag: string }>} the body is null where nothing has changed
   */
  async changed(path, query, tag = "") {
    const answer = await this._send("GET", path, { query, headers: tag ? { "If-None-Match": tag } : {} });
    if (answer.status === 304) return { body: null, tag };
    return { body: await answer.json(), tag: answer.headers.get("ETag") ?? "" };
  }

  /** The health of the service, also where it is not well. @returns {Promise<any>} */
  async health() {
    return this.get("../healthcheck").catch((refusal) => {
      if (refusal.body?.details) return refusal.body;
      throw refusal;
    });
  }

  /** @param {string} path @param {unknown} [body] @param {Record<string, string>} [headers] */
  async post(path, body, headers = {}) {
    return (await this._send("POST", path, { body, headers })).json();
  }

  /** @param {string} path @param {unknown} body */
  async put(path, body) {
    return (await this._send("PUT", path, { body })).json();
  }

  /** @param {string} path */
  async delete(path) {
    await this._send("DELETE", path, {});
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ query?: Record<string, string | number>, headers?: Record<string, string>, body?: unknown }} more
   * @returns {Promise<Response>}
   */
  async _send(method, path, { query = {}, headers = {}, body }) {
    const address = new URL(`v1/${path}`, ROOT);
    for (const [name, value] of Object.entries(query)) {
      if (value !== "") address.searchParams.set(name, String(value));
    }
    const answer = await fetch(address, {
      method,
      headers: {
        "X-Auth-Token": this._token,
        "OpenStack-API-Version": VERSION,
        ...(body ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "omit",
      cache: "no-store",
    }).catch(() => {
      const message = text("noAnswer", { service: "The API", origin: location.origin });
      throw new Refused(0, { error_message: message });
    });
    if (answer.status === 401) this._expired();
    if (!answer.ok && answer.status !== 304) {
      throw new Refused(answer.status, await answer.json().catch(() => null));
    }
    return answer;
  }
}
