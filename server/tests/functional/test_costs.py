"""Does an operation cost more than it did? Statements, rows, requests to the cloud and messages are counted
in three sizes, and compared with ``costs.md``.

With ``BLAZAR_RENEW_COSTS=1`` the record is written anew. Review it before you commit it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from blazar.domain.lease.lease import Lease
from blazar.domain.resource import Registration
from blazar.service.events import Events

from .cost_record import cells, differences, grows_with_over, growth, parsed, rendered
from .costs import SIZES, Site, hosts, life, measured
from .counting import Tally

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
RECORD = Path(__file__).with_name("costs.md")
READ_ANEW = "leases ahead of the hosts that are read anew"
OF_PROJECT = "leases ahead of the project"
FREEPOOL = "hosts of the freepool, which Nova tells at each change"
OF_LEASE = "hosts of the lease"
ALL_HOSTS = "hosts, which are all compared with the database before a refusal"

REASONS: Mapping[str, str] = {
    "create: physical:host": OF_PROJECT,
    "create: virtual:instance": OF_PROJECT,
    "create: flavor:instance": OF_PROJECT,
    "create: virtual:floatingip": OF_PROJECT,
    "create: network": OF_PROJECT,
    "series: create five leases": f"{READ_ANEW}; {OF_PROJECT}",
    "start: physical:host": FREEPOOL,
    "end: physical:host": FREEPOOL,
    "start: of many hosts": f"{OF_LEASE}; {FREEPOOL}",
    "end: of many hosts": f"{OF_LEASE}; {FREEPOOL}",
    "start: of many instances": OF_LEASE,
    "end: of many instances": OF_LEASE,
    "delete: two by their start": f"{OF_PROJECT}, of which some thousand are looked at for one request",
    "split: one of two hosts": OF_PROJECT,
    "list of all hosts": "hosts",
    "allocation of one host": "leases ahead of the host",
    "availability of one host": OF_PROJECT,
    "feed": f"{OF_PROJECT}, of which 500 are told",
    "feed, nothing has changed": f"{OF_PROJECT}, of which 500 are told",
    "create, refused": ALL_HOSTS,
    "create, refused and explained": f"{ALL_HOSTS}; leases in the way, of which 20 are told",
    "start of a manager": "hosts; leases ahead",
}
"""What operations grow with."""


def test_operations_cost_what_is_recorded(tmp_path: Path) -> None:
    found: dict[str, list[Tally]] = {}
    for number, size in enumerate(SIZES):
        (tmp_path / str(number)).mkdir()
        for operation, tally in measured(tmp_path / str(number), size).items():
            found.setdefault(operation, []).append(tally)
    if "BLAZAR_RENEW_COSTS" in os.environ:
        RECORD.write_text(rendered(cells(found), REASONS))
    recorded = parsed(RECORD.read_text(), len(SIZES))
    now = cells(found)
    told = [*differences(recorded, found, SIZES), *growth(now, REASONS), *grows_with_over(now)]
    assert not told, "\n".join(told)


class Careless(Events):
    """Reads the resources of a lease in a statement for each."""

    def _resources_of(self, lease: Lease) -> Mapping[str, Registration]:
        with self._database.read() as uow:
            found = [uow.resources.get(each.resource_id) for each in lease.allocations]
        return {each.id: each for each in found if each is not None}


def test_a_statement_for_each_host_is_told(tmp_path: Path) -> None:
    site = Site(tmp_path, SIZES[0])
    site.populate()

    def starts() -> list[Tally]:
        return [dict(life(site, "large", hosts(number)))["start: large"] for number in (2, 4)]

    good = starts()
    site.events = Careless(site.database, site.service_cloud, site.kinds, site.clock)
    bad = starts()
    site.stop()
    recorded = cells({"start": good})
    assert list(differences(recorded, {"start": good}, (2, 4))) == []
    told = "\n".join(differences(recorded, {"start": bad}, (2, 4)))
    usual = good[0].counts["statements"]
    assert f"start: statements grows: recorded {usual}, now {usual + 1}, with 2. It sent: " in told
    assert f"start: statements grows: recorded {usual}, now {usual + 3}, with 4. It sent: " in told
    assert "4 x SELECT resources" in told
    (sentence,) = growth(cells({"start": bad}), {})
    assert sentence.startswith("start: it is not said what these grow with: statements, ")


def test_what_falls_is_told_and_so_is_what_is_missing() -> None:
    costs = {"one": [tally(3, 1000), tally(3, 1000)], "two": [tally(1, 10), tally(1, 10)]}
    recorded = parsed(rendered(cells({"one": [tally(4, 1040), tally(3, 1000)], "old": costs["two"]}), {}), 2)
    assert [each.partition(".")[0] for each in differences(recorded, costs, ("few", "many"))] == [
        "one: statements falls: recorded 4, now 3, with few",
        "two: is measured only",
        "old: is recorded only",
    ]
    assert list(growth(cells(costs), {"one": "hosts"})) == ["one: it grows with nothing any more"]


def test_what_grows_with_what_is_over_is_told_whatever_its_reason() -> None:
    found = cells(
        {"more": [tally(3, 10), tally(4, 10), tally(3, 10)], "ahead": [tally(3, 10)] * 2 + [tally(9, 9)]}
    )
    assert list(grows_with_over(found)) == ["more: it grows with what is over: statements"]


def tally(statements: int, message_bytes: int) -> Tally:
    made = Tally()
    made.counts.update(statements=statements, message_bytes=message_bytes)
    return made
