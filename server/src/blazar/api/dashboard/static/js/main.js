/** The page: signing in, and then the calendar. */

import { Calendar } from "./calendar.js";
import { signInPage } from "./sign-in.js";

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const answer = await fetch(new URL("../configuration.json", import.meta.url), { credentials: "omit" });
/** @type {import("./sign-in.js").Configuration} */
const configuration = await answer.json();

/** @param {string} [why] */
function signIn(why = "") {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  page.replaceChildren(signInPage(configuration, begin, why));
}

/** @param {import("./keystone.js").Session} session */
function begin(session) {
  page.replaceChildren(new Calendar(session, { left: signIn, moved: begin }));
}

signIn();
