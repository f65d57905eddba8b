/** The fields of a reservation, made from what the API says that its kind takes. */

import { choice, element, labelled } from "./element.js";
import { parameterName, text } from "./texts.js";

/** @typedef {{ type?: string, enum?: string[], anyOf?: Schema[], items?: Schema, minimum?: number, maximum?: number, maxLength?: number, default?: unknown, description?: string }} Schema */
/** @typedef {{ properties: Record<string, Schema>, required: string[], description?: string }} KindSchema */
/** @typedef {{ node: HTMLElement, value: () => unknown }} Field */
/** @typedef {{ nodes: HTMLElement[], reservation: () => Record<string, unknown> }} KindFields */

/** @typedef {Promise<Record<string, KindSchema>>} Schemas What reservations take, by kind. */
/** What was read, which is the same as long as the user is signed in. @type {WeakMap<import("./api.js").Api, Schemas>} */
const KNOWN = new WeakMap();

/** @param {import("./api.js").Api} api @returns {Schemas} */
export function kindSchemas(api) {
  const known = KNOWN.get(api) ?? readSchemas(api);
  KNOWN.set(api, known);
  known.catch(() => KNOWN.delete(api));
  return known;
}

/** @param {import("./api.js").Api} api @returns {Schemas} */
async function readSchemas(api) {
  const { schemas } = (await api.get("openapi.json")).components;
  const kinds = Object.entries(schemas.ReservationCreate["x-kinds"]);
  return Object.fromEntries(kinds.map(([kind, at]) => [kind, schemas[/** @type {any} */ (at).$ref.split("/").at(-1)]]));
}

/**
 * @param {string} kind
 * @param {KindSchema} schema
 * @param {Record<string, unknown>} given values to begin with
 * @param {() => void} changed
 * @returns {KindFields}
 */
export function kindFields(kind, schema, given, changed) {
  const fields = Object.entries(schema.properties).map(([name, of]) => {
    const isNeeded = schema.required.includes(name);
    return /** @type {[string, Field]} */ ([name, fieldOf(name, of, given[name] ?? of.default, isNeeded, changed)]);
  });
  return {
    nodes: fields.map(([, { node }]) => node),
    reservation: () => ({
      resource_type: kind,
      ...Object.fromEntries(fields.map(([name, { value }]) => [name, value()]).filter(([, value]) => value !== undefined)),
    }),
  };
}

/**
 * @param {string} name
 * @param {Schema} schema
 * @param {unknown} first its value to begin with
 * @param {boolean} isNeeded
 * @param {() => void} changed
 * @returns {Field}
 */
function fieldOf(name, schema, first, isNeeded, changed) {
  const types = (schema.anyOf ?? [schema]).map((each) => each.type);
  const title = schema.description;
  if (schema.items?.enum) return several(name, title, schema.items.enum, isNeeded, changed);
  if (schema.enum) return chosen(name, title, Object.fromEntries(schema.enum.map((each) => [each, each || text("noneOfIt")])), String(first), (value) => value, changed);
  if (types.includes("boolean")) {
    const words = { ...(types.includes("null") ? { null: text("either") } : {}), true: text("yes"), false: text("no") };
    return chosen(name, title, words, String(first), (value) => JSON.parse(value), changed);
  }
  if (types.includes("integer") || types.includes("number")) {
    const limits = { min: schema.minimum, max: schema.maximum, step: types.includes("integer") ? 1 : "any" };
    const least = types.includes("null") ? "" : (schema.minimum ?? 0);
    const field = input(name, title, { type: "number", value: first ?? least, required: isNeeded, ...limits });
    return { node: labelled(parameterName(name), field), value: () => (field.value === "" ? undefined : Number(field.value)) };
  }
  const field = input(name, title, { value: textOf(first), maxlength: schema.maxLength, spellcheck: "false" });
  const isList = types.includes("array");
  const read = () => (isList ? field.value.split(/[\s,]+/).filter(Boolean) : field.value);
  return { node: labelled(parameterName(name), field), value: read };
}

/**
 * A field of which several words may be chosen; where none is, the service's own default counts.
 * @param {string} name
 * @param {string | undefined} title
 * @param {string[]} words
 * @param {boolean} isNeeded
 * @param {() => void} changed
 * @returns {Field}
 */
function several(name, title, words, isNeeded, changed) {
  const field = choice(Object.fromEntries(words.map((each) => [each, parameterName(each)])), "", changed, { name, title, multiple: true, size: words.length });
  const value = () => [...field.selectedOptions].map((each) => each.value);
  return { node: labelled(parameterName(name), field), value: () => (isNeeded || value().length ? value() : undefined) };
}

/** @param {string} name @param {string | undefined} title @param {Record<string, unknown>} more @returns {HTMLInputElement} */
function input(name, title, more) {
  return element("input", { name, title, ...more });
}

/** @param {unknown} value */
function textOf(value) {
  return Array.isArray(value) ? value.join(" ") : String(value ?? "");
}

/**
 * @param {string} name
 * @param {string | undefined} title
 * @param {Record<string, string>} words by value
 * @param {string} first
 * @param {(value: string) => unknown} read
 * @param {() => void} changed
 * @returns {Field}
 */
function chosen(name, title, words, first, read, changed) {
  const field = choice(words, first, changed, { name, title });
  return { node: labelled(parameterName(name), field), value: () => read(field.value) };
}
