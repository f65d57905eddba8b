"""The hosts of one lease are worked on side by side: how many calls the cloud has at once, counted by a cloud
that answers none of them before it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.tracing import OpenTelemetryTracing
from blazar_sandbox.faults import Effect, Fault

from .sandboxed import Sandboxed, until
from .test_tracing import Program, trace_of
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
HOSTS = 12
HELPERS = 4
LOOKS = Fault(Effect.HANG, "compute", "GET", r"/servers/detail\?.*host=")
JOINS = Fault(Effect.HANG, "compute", "POST", r"/os-aggregates/\d+/action")
INVENTORIES = Fault(Effect.HANG, "placement", "PUT", r"/inventories")


class Place:
    """A service whose manager has so many helpers, and twelve registered hosts."""

    def __init__(self, directory: Path, helpers: int, tracing: OpenTelemetryTracing | None = None) -> None:
        more = {} if tracing is None else {"tracing": tracing}
        self.at = Sandboxed(directory, HOSTS, cloud_calls_at_once=helpers, delete_wait=0, **more)
        for number in range(1, HOSTS + 1):
            body = {"name": f"compute-{number:02d}"}
            assert self.at.send("POST", "/v1/os-hosts", "admin", json=body).status_code == 201

    def reserve(self, **wanted: Any) -> str:
        body = {"name": "a", "start_date": "now", "end_date": "2099-01-01 00:00", "reservations": [wanted]}
        made = self.at.send("POST", "/v1/leases", "demo", json=body)
        assert made.status_code == 201, made.text
        return str(made.json["lease"]["id"])

    def is_active(self, lease_id: str) -> bool:
        found = self.at.send("GET", f"/v1/leases/{lease_id}", "demo").json["lease"]
        return bool(found["status"] == "ACTIVE")

    def delete(self, lease_id: str) -> None:
        path = f"/v1/leases/{lease_id}"
        self.at.send("DELETE", path, "demo")
        assert until(lambda: bool(self.at.send("GET", path, "demo").status_code == 404))

    @contextmanager
    def hanging(self, fault: Fault) -> Iterator[Callable[[], int]]:
        """Let these calls hang inside the block; return how many do."""
        faults = self.at.state.faults
        added = faults.add(fault)
        yield lambda: faults.hits(added.id)
        faults.clear()


@contextmanager
def place(directory: Path, helpers: int, tracing: OpenTelemetryTracing | None = None) -> Iterator[Place]:
    made = Place(directory, helpers, tracing)
    try:
        yield made
    finally:
        made.at.state.faults.clear()
        made.at.stop()


def hosts(number: int) -> dict[str, Any]:
    return {**HOST, "min": number, "max": number}


@pytest.mark.parametrize("helpers", [0, HELPERS])
def test_a_start_has_a_call_of_its_worker_and_one_of_each_helper_under_way(
    tmp_path: Path, helpers: int
) -> None:
    """So ``HOSTS`` hosts take about ``HOSTS / (helpers + 1)`` times as long as a call."""
    with place(tmp_path, helpers) as at:
        for fault, wanted in (
            (LOOKS, hosts(HOSTS)),
            (INVENTORIES, {**INSTANCES, "amount": HOSTS, "affinity": False}),
        ):
            with at.hanging(fault) as hangs:
                lease_id = at.reserve(**wanted)
                assert until(lambda n=hangs: n() > helpers)  # type: ignore[misc]
                assert not until(lambda n=hangs: n() > helpers + 1, seconds=0.3)  # type: ignore[misc]
            assert until(lambda i=lease_id: at.is_active(i))  # type: ignore[misc]
            at.delete(lease_id)


def test_a_lease_that_hangs_at_all_its_hosts_keeps_no_other_from_starting(tmp_path: Path) -> None:
    with place(tmp_path, HELPERS) as at, at.hanging(LOOKS) as hangs:
        large = at.reserve(**hosts(HOSTS - 2))
        assert until(lambda: hangs() == HELPERS + 1)
        small = at.reserve(**{**INSTANCES, "amount": 2, "affinity": False})
        assert until(lambda: at.is_active(small))
        assert not at.is_active(large)


def test_an_end_takes_its_hosts_back_side_by_side(tmp_path: Path) -> None:
    with place(tmp_path, HELPERS) as at:
        lease_id = at.reserve(**hosts(HOSTS))
        assert until(lambda: at.is_active(lease_id))
        assert at.at.aggregates()["freepool"] == []
        with at.hanging(JOINS) as hangs:
            at.at.send("DELETE", f"/v1/leases/{lease_id}", "demo")
            assert until(lambda: hangs() > HELPERS)
            assert not until(lambda: hangs() > HELPERS + 1, seconds=0.3)
        assert until(lambda: len(at.at.aggregates()["freepool"]) == HOSTS)


def test_the_calls_of_helpers_are_in_the_trace_and_the_log_context_of_the_event(tmp_path: Path) -> None:
    program = Program("blazar-manager")
    with place(tmp_path, HELPERS, program.tracing) as at:
        lease_id = at.reserve(**hosts(HOSTS))
        assert until(lambda: at.is_active(lease_id))
        assert until(lambda: "event start_lease" in {span.name for span in program.spans()})
        event = program.named("event start_lease")
        paths = [
            str((span.attributes or {}).get("url.path"))
            for span in program.spans()
            if trace_of(span) == trace_of(event)
        ]
        assert paths.count("/servers/detail") == HOSTS
        assert sum(path.endswith("/action") for path in paths) >= 2 * HOSTS
