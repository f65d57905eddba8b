/** Hosts that are taken away for a while: what that does to leases is shown before it is done. */

import { openDialog } from "./dialog.js";
import { DryRun } from "./dry-run.js";
import { button, element, labelled, table } from "./element.js";
import { messageOf } from "./lease.js";
import { doubtOf, momentField, momentOf, parsed, shown, wire } from "./moments.js";
import { effectName, text } from "./texts.js";

/** @typedef {{ start: number, end: number, hosts: string }} Wish `hosts` are names or ids, with spaces between them */

/**
 * @param {import("./api.js").Api} api
 * @param {Wish} wish
 * @param {import("./dates.js").Changed} changed
 */
export function openMaintenance(api, wish, changed) {
  const hosts = element("input", { name: "hosts", required: true, value: wish.hosts, spellcheck: "false" });
  const from = momentField("from", wish.start);
  const to = momentField("to", wish.end);
  const name = element("input", { name: "name", maxlength: 80 });
  const reason = element("input", { name: "reason", maxlength: 255 });
  const force = element("input", { name: "force", type: "checkbox" });
  const forced = element("label", { class: "check", hidden: true }, force, text("forceMeans"));
  const told = element("p", { class: "told", role: "status" });
  const leases = element("div");
  const body = () => ({
    hosts: hosts.value.split(/[\s,]+/).filter(Boolean),
    start_date: wire(momentOf(from)),
    end_date: wire(momentOf(to)),
    ...(name.value ? { name: name.value } : {}),
    ...(reason.value ? { reason: reason.value } : {}),
    force: force.checked,
  });

  /** @param {any} refusal null where it would be done @param {any} [answer] */
  function tell(refusal, answer) {
    const impact = answer?.impact ?? refusal?.body?.impact;
    const said = impact ? text("impact", impact) : messageOf(refusal);
    told.textContent = [said, doubtOf(from, to)].filter(Boolean).join(" ");
    told.className = refusal || impact?.breaks ? "told no" : "told yes";
    forced.hidden = !impact?.breaks;
    submit.disabled = !impact || (impact.breaks > 0 && !force.checked);
    leases.replaceChildren(...(impact?.leases.length ? [impactTable(impact.leases)] : []));
  }

  const dryRun = new DryRun(tell);
  const ask = () => {
    submit.disabled = true;
    dryRun.forget();
    if (hosts.value.trim() && from.checkValidity() && to.checkValidity()) dryRun.ask(() => api.post("maintenances", { ...body(), dry_run: true }));
    else told.textContent = doubtOf(from, to) || text("hostsAndDates");
  };
  const submit = element("button", { type: "submit", class: "primary", disabled: true }, text("takeAway"));
  const form = element(
    "form",
    {
      class: "create",
      on: {
        input: ask,
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          api.post("maintenances", body()).then(({ maintenance }) => {
            dialog.close();
            changed(text("takenAway", { name: maintenance.name }), () => api.delete(`maintenances/${maintenance.id}`));
          }, tell);
        },
      },
    },
    labelled(text("hostsField"), hosts),
    element("div", { class: "fields" }, labelled(text("from"), from), labelled(text("to"), to)),
    element("div", { class: "fields" }, labelled(text("name"), name), labelled(text("why"), reason)),
    told,
    leases,
    forced,
    element("footer", { class: "actions" }, submit),
  );
  const dialog = openDialog(text("newMaintenance"), form);
  ask();
}

/**
 * Give the hosts back.
 * @param {import("./api.js").Api} api
 * @param {string} id
 * @param {import("./dates.js").Changed} changed
 */
export async function endMaintenance(api, id, changed) {
  const { maintenance } = await api.get(`maintenances/${id}`);
  await api.delete(`maintenances/${id}`);
  const { hosts, name, reason, start_date: start, end_date: end } = maintenance;
  const hasBegun = parsed(start) <= Date.now();
  const again = {
    hosts,
    name,
    ...(reason ? { reason } : {}),
    ...(hasBegun ? {} : { start_date: wire(parsed(start)) }),
    end_date: wire(parsed(end)),
  };
  changed(text("maintenanceEnded", { name }), () => api.post("maintenances", again));
}

/** @param {import("./api.js").Api} api @param {import("./rows.js").Bar} bar @param {import("./dates.js").Changed} changed */
export function openMaintenanceBar(api, bar, changed) {
  const told = element("p", { class: "told no", role: "status" });
  const end = button(text("endMaintenance"), () =>
    endMaintenance(api, bar.id, (...said) => {
      dialog.close();
      changed(...said);
    }).catch((refusal) => (told.textContent = messageOf(refusal))), { class: "danger" });
  const when = element("p", {}, `${shown(bar.start)} – ${shown(bar.end)}`);
  const dialog = openDialog([text("maintenance"), bar.name].filter(Boolean).join(": "), when, ...(bar.id ? [end] : []), told);
}

/** @param {any[]} leases */
function impactTable(leases) {
  const rows = leases.map((each) => [
    each.name ?? text("offer"),
    effectName(each.effect, each.reason),
    shown(parsed(each.start_date)),
    shown(parsed(each.end_date)),
  ]);
  return table(["lease", "effect", "starts", "ends"], rows);
}
