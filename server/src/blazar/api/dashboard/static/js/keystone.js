/** Signing in with Keystone. Tokens are kept in memory only, and never in an address. */

import { text } from "./texts.js";

/** @typedef {{ id: string, name: string }} Project */

/** What went wrong at Keystone, in a sentence for people. */
export class SignInFailed extends Error {}

/** A user with a token for a project. */
export class Session {
  /**
   * @param {Keystone} keystone
   * @param {string} token
   * @param {any} told the body that Keystone has sent with the token
   */
  constructor(keystone, token, told) {
    this.keystone = keystone;
    this.token = token;
    /** @type {string} */
    this.user = told.user.name;
    /** @type {Project | null} */
    this.project = told.project ? { id: told.project.id, name: told.project.name } : null;
    /** @type {string[]} */
    this.roles = (told.roles ?? []).map((/** @type {any} */ role) => role.name);
  }

  /** @returns {Promise<Project[]>} the projects in which the user has a role */
  async projects() {
    const { body } = await this.keystone.ask("GET", "/auth/projects", { token: this.token });
    return body.projects.map((/** @type {any} */ each) => ({ id: each.id, name: each.name }));
  }

  /** @returns {Promise<Map<string, string>>} the names of all projects by their ids, as far as Keystone tells the user */
  async projectNames() {
    const { body } = await this.keystone.ask("GET", "/projects", { token: this.token }).catch(() => ({ body: { projects: [] } }));
    return new Map(body.projects.map((/** @type {any} */ each) => [each.id, each.name]));
  }

  /** @param {string} projectId @returns {Promise<Session>} the same user with a token for another project */
  within(projectId) {
    const identity = { methods: ["token"], token: { id: this.token } };
    return this.keystone.signIn(identity, { project: { id: projectId } });
  }

  /** Give the token up. That Keystone does not hear of it does no harm: it expires. */
  async end() {
    const headers = { "X-Subject-Token": this.token };
    await this.keystone.ask("DELETE", "/auth/tokens", { token: this.token, headers }).catch(() => null);
  }
}

export class Keystone {
  /** @param {string} url with /v3 */
  constructor(url) {
    this.url = url;
  }

  /**
   * @param {Record<string, unknown>} identity
   * @param {Record<string, unknown> | null} [scope]
   * @returns {Promise<Session>}
   */
  async signIn(identity, scope = null) {
    const auth = scope ? { identity, scope } : { identity };
    const { body, answer } = await this.ask("POST", "/auth/tokens?nocatalog", { body: { auth } });
    return new Session(this, answer.headers.get("X-Subject-Token") ?? "", body.token);
  }

  /** @param {string} user @param {string} domain @param {string} password @param {string} project */
  withPassword(user, domain, password, project) {
    const named = { name: user, domain: { name: domain }, password };
    const scope = project ? { project: { name: project, domain: { name: domain } } } : null;
    return this.signIn({ methods: ["password"], password: { user: named } }, scope);
  }

  /** @param {string} id @param {string} secret */
  withApplicationCredential(id, secret) {
    return this.signIn({ methods: ["application_credential"], application_credential: { id, secret } });
  }

  /** @param {string} token @returns {Promise<Session>} the session of a token that the user has already */
  async withToken(token) {
    const headers = { "X-Subject-Token": token };
    const { body } = await this.ask("GET", "/auth/tokens?nocatalog", { token, headers });
    return new Session(this, token, body.token);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ token?: string, headers?: Record<string, string>, body?: unknown }} more
   */
  async ask(method, path, { token, headers = {}, body } = {}) {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(body ? { "Content-Type": "application/json" } : {}),
        ...(token ? { "X-Auth-Token": token } : {}),
        ...headers,
      },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "omit",
      cache: "no-store",
      referrerPolicy: "no-referrer",
    }).catch(() => {
      throw new SignInFailed(text("noAnswer", { service: "Keystone", origin: location.origin }));
    });
    const told = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
    if (!answer.ok) {
      throw new SignInFailed(text("refused", { message: told.error?.message ?? String(answer.status) }));
    }
    return { body: told, answer };
  }
}

/**
 * The session with a project: the first one of the user's where the token has none.
 * @param {Session} session
 * @returns {Promise<Session>}
 */
export async function withProject(session) {
  if (session.project) return session;
  const [first] = await session.projects();
  if (!first) throw new SignInFailed(text("noProjects"));
  return session.within(first.id);
}
