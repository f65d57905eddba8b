/** The form to sign in with Keystone. */

import { button, choice, element, labelled } from "./element.js";
import { Keystone, withProject } from "./keystone.js";
import { text } from "./texts.js";

/** @typedef {{ keystone_url: string, sandbox: { names: string[], password: string } | null }} Configuration */

/**
 * @param {Configuration} configuration
 * @param {(session: import("./keystone.js").Session) => void} done
 * @param {string} [why] it is needed again
 * @returns {HTMLElement}
 */
export function signInPage(configuration, done, why = "") {
  const told = element("p", { class: "told", role: "alert" }, why);
  const keystone = new Keystone(configuration.keystone_url);

  /** @param {() => Promise<import("./keystone.js").Session>} signIn */
  async function attempt(signIn) {
    told.textContent = "";
    try {
      done(await withProject(await signIn()));
    } catch (failure) {
      told.textContent = failure instanceof Error ? failure.message : String(failure);
    }
  }

  const heading = element("h1", {}, text("title"));
  if (!configuration.keystone_url) {
    return element("main", { class: "sign-in" }, heading, element("p", {}, text("noKeystone")));
  }
  return element(
    "main",
    { class: "sign-in" },
    heading,
    oneClick(configuration, (user, password) =>
      attempt(() => keystone.withPassword(user, "Default", password, user)),
    ),
    form(keystone, attempt),
    told,
  );
}

/**
 * @param {Configuration} configuration
 * @param {(user: string, password: string) => void} signIn
 */
function oneClick(configuration, signIn) {
  const { sandbox } = configuration;
  if (!sandbox) return null;
  const users = sandbox.names.map((name) =>
    button(text("signInAs", { name }), () => signIn(name, sandbox.password), { class: "primary" }),
  );
  return element("section", { class: "one-click" }, element("p", {}, text("sandbox")), ...users);
}

/** @param {string} name @param {Record<string, unknown>} [more] @returns {HTMLInputElement} */
function input(name, more = {}) {
  return element("input", { name, required: true, autocomplete: "off", spellcheck: "false", ...more });
}

/**
 * @param {Keystone} keystone
 * @param {(signIn: () => Promise<import("./keystone.js").Session>) => void} attempt
 */
function form(keystone, attempt) {
  const user = input("username", { autocomplete: "username" });
  const domain = input("domain", { value: "Default" });
  const password = input("password", { type: "password", autocomplete: "current-password" });
  const project = input("project", { required: false });
  const token = input("token", { type: "password" });
  const id = input("credential-id");
  const secret = input("credential-secret", { type: "password" });
  /** @type {Record<string, [HTMLElement[], () => Promise<import("./keystone.js").Session>]>} */
  const methods = {
    password: [
      [
        labelled(text("user"), user),
        labelled(text("passwordField"), password),
        labelled(text("userDomain"), domain),
        labelled(text("project"), project),
      ],
      () => keystone.withPassword(user.value, domain.value, password.value, project.value),
    ],
    token: [[labelled(text("tokenField"), token)], () => keystone.withToken(token.value.trim())],
    applicationCredential: [
      [labelled(text("credentialId"), id), labelled(text("credentialSecret"), secret)],
      () => keystone.withApplicationCredential(id.value.trim(), secret.value.trim()),
    ],
  };
  let method = "password";
  const fields = element("div", { class: "fields" }, ...methods[method][0]);
  const names = {
    password: text("password"),
    token: text("token"),
    applicationCredential: text("applicationCredential"),
  };
  const chooser = choice(names, method, (chosen) => {
    method = chosen;
    fields.replaceChildren(...methods[method][0]);
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    attempt(methods[method][1]);
  };
  return element(
    "form",
    { on: { submit } },
    labelled(text("method"), chooser),
    fields,
    element("button", { type: "submit" }, text("signIn")),
  );
}
