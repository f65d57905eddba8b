"""Commands about maintenances."""

from __future__ import annotations

import json

from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

MAINTENANCE = {
    "id": "6d1f3c70-2f6f-4c5e-9d3b-8f1a1f0c2b7d",
    "name": "disks",
    "reason": None,
    "user_id": "admin",
    "hosts": ["1", "2"],
    "start_date": "2030-01-08T12:00:00.000000",
    "end_date": "2030-01-08T14:00:00.000000",
    "created_at": "2030-01-07 08:30:00",
}


def test_a_maintenance_is_made_and_its_impact_shown(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/maintenances", 201, {"maintenance": MAINTENANCE, "impact": samples.IMPACT})
    ran = blazar(
        "maintenance-create 1 compute-2 --start-date 'tomorrow 12:00' --duration 2h --name disks "
        "--reason 'ticket 7' --force -f json"
    )
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert sent.headers["openstack-api-version"] == "reservation 1.8"
    assert sent.body == {
        "hosts": ["1", "compute-2"],
        "start_date": "2030-01-08 12:00",
        "end_date": "2030-01-08 14:00",
        "name": "disks",
        "reason": "ticket 7",
        "force": True,
    }
    first, second = json.loads(ran.out)
    assert (first["effect"], first["name"], first["hosts"], first["moves"]) == (
        "moves",
        "training",
        "1",
        "1 -> 3",
    )
    assert (second["effect"], second["reason"], second["name"]) == ("breaks", "not_now", "")
    note = "leases that move: 1, break: 1, stay: 0"
    assert ran.err == f"Created maintenance: {MAINTENANCE['id']} ({note})\n"


def test_a_dry_run_of_a_maintenance_changes_nothing(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("POST", "/maintenances", 200, {"impact": samples.IMPACT})
    ran = blazar("maintenance-create 1 --end-date 'tomorrow 14:00' --dry-run -f value -c lease_id")
    assert ran.code == 0, ran.err
    (sent,) = ran.requests
    assert (sent.body["dry_run"], sent.body["start_date"], "name" in sent.body) == (True, "now", False)
    assert ran.out == f"{samples.LEASE_ID}\n{samples.OTHER_LEASE_ID}\n"
    assert ran.err.startswith("Nothing is changed: leases that move: 1")


def test_a_refused_maintenance_names_what_would_break(blazar: Blazar, cloud: RecordingCloud) -> None:
    refusal = {"error_message": "Leases would break (1)", "impact": samples.IMPACT}
    cloud.answer("POST", "/maintenances", 409, refusal)
    ran = blazar("maintenance-create 1 --duration 2h")
    assert (ran.code, ran.out) == (1, "")
    assert f"breaks:  {samples.OTHER_LEASE_ID} (not_now)" in ran.err
    assert "training" not in ran.err
    assert "With --force the hosts are taken away all the same" in ran.err


def test_maintenances_are_listed_shown_and_ended(blazar: Blazar, cloud: RecordingCloud) -> None:
    path = f"/maintenances/{MAINTENANCE['id']}"
    cloud.answer("GET", "/maintenances", 200, {"maintenances": [MAINTENANCE]})
    cloud.answer("GET", path, 200, {"maintenance": MAINTENANCE})
    cloud.answer("DELETE", path, 204, None)
    listed = blazar("maintenance-list -f json")
    assert json.loads(listed.out)[0]["hosts"] == "1 2"
    shown = blazar(f"maintenance-show {MAINTENANCE['id']} -f value -c name")
    assert shown.out == "disks\n"
    ended = blazar(f"maintenance-delete {MAINTENANCE['id']}")
    assert ended.out == f"Deleted maintenance: {MAINTENANCE['id']}\n"
    for ran in (listed, shown, ended):
        assert [each.headers["openstack-api-version"] for each in ran.requests] == ["reservation 1.8"]


def test_a_maintenance_without_an_end_is_not_sent(blazar: Blazar) -> None:
    ran = blazar("maintenance-create 1")
    assert (ran.code, ran.requests) == (2, [])
