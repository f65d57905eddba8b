/** Addresses within the page: what stands after the `#`, which is never sent to a server. */

export const OPERATORS = "#/operators";
export const MAIL = "#/mail";
const LEASE = /^#\/leases\/([\w-]+)$/;

/** @param {string} id @returns {string} the address of a lease's own page */
export function toLease(id) {
  return `#/leases/${id}`;
}

/** @param {string} hash of the address @returns {string} the id of its lease; empty where it has none */
export function leaseIn(hash) {
  return LEASE.exec(hash)?.[1] ?? "";
}
