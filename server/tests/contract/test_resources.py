"""Are resources kept as they were registered, are generations compared, and is it known who occupies what?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest

from blazar.domain.errors import Stale
from blazar.domain.failure import Failure, FailureReason
from blazar.domain.lease.lease import LeaseStatus
from blazar.domain.resource import Allocation, Inventory, Pool, Registration, Usage, database_order
from blazar.service.ports import Database, ResourceChange

from .builders import NOW, START, host, hours, lease, minutes

LATER = NOW + hours(1)
ADDRESS = replace(host("fip-1"), pool=Pool("floatingip"), name="192.0.2.1", traits=frozenset(), inventory={})


def register(database: Database, *registrations: Registration) -> None:
    told = database.transact(lambda u: [u.resources.add(registration, NOW) for registration in registrations])
    with database.read() as u:
        assert told == [u.resources.get(registration.id) for registration in registrations]


def read(database: Database, resource_id: str) -> Registration:
    with database.read() as u:
        registration = u.resources.get(resource_id)
    assert registration is not None
    return registration


def bump(database: Database, expected: Mapping[str, int]) -> None:
    database.transact(lambda u: u.resources.bump(expected, LATER))


def generations(database: Database) -> Mapping[str, int]:
    with database.read() as u:
        return u.resources.generations(Pool("host"))


def test_reads_what_was_registered(database: Database) -> None:
    register(database, host("1", generation=12))
    assert read(database, "1") == replace(host("1"), generation=12, created_at=NOW)
    with database.read() as u:
        assert u.resources.find(Pool("host"), "compute-1") == read(database, "1")


def test_finds_exactly(database: Database) -> None:
    register(database, host("1"), ADDRESS)
    with database.read() as u:
        assert u.resources.find(Pool("host"), "compute-10") is None
        assert u.resources.find(Pool("host"), "Compute-1") is None
        assert u.resources.find(Pool("floatingip"), "compute-1") is None
        assert u.resources.get("2") is None


@pytest.mark.parametrize("again", [host("1", name="other"), host("2", name="compute-1")], ids=["id", "name"])
def test_registers_once(database: Database, again: Registration) -> None:
    register(database, host("1"))
    with pytest.raises(Stale):
        register(database, again)
    with database.read() as u:
        assert [registration.name for registration in u.resources.list(Pool("host"))] == ["compute-1"]


def test_finds_by_the_id_in_the_cloud(database: Database) -> None:
    same = replace(ADDRESS, cloud_id="uuid-1")
    register(database, host("1", cloud_id="uuid-1"), host("2", cloud_id="uuid-2"), host("3"), host("4"), same)
    with database.read() as u:
        assert u.resources.find_by_cloud_id(Pool("host"), "uuid-1") == read(database, "1")
        assert u.resources.find_by_cloud_id(Pool("floatingip"), "uuid-1") == read(database, "fip-1")
        assert u.resources.find_by_cloud_id(Pool("floatingip"), "uuid-2") is None
        assert u.resources.find_by_cloud_id(Pool("host"), "UUID-1") is None
        assert [r.cloud_id for r in u.resources.list(Pool("host"))] == ["uuid-1", "uuid-2", None, None]


def test_two_resources_of_a_pool_are_not_the_same_in_the_cloud(database: Database) -> None:
    register(database, host("1", cloud_id="uuid-1"), host("2"))
    with pytest.raises(Stale):
        register(database, host("3", cloud_id="uuid-1"))
    second = replace(read(database, "2"), cloud_id="uuid-1")
    with pytest.raises(Stale):
        database.transact(lambda u: u.resources.save(second, LATER))
    assert read(database, "2").cloud_id is None
    database.transact(lambda u: u.resources.save(replace(second, cloud_id="uuid-2"), LATER))
    database.transact(lambda u: u.resources.save(read(database, "1"), LATER))
    assert [read(database, id_).cloud_id for id_ in ("1", "2")] == ["uuid-1", "uuid-2"]


def test_lists_a_pool_by_number(database: Database) -> None:
    register(database, host("10"), host("9"), host("b"), host("100"), host("a"), ADDRESS)
    with database.read() as u:
        assert [r.id for r in u.resources.list(Pool("host"))] == ["9", "10", "100", "a", "b"]
        assert [r.id for r in u.resources.list(Pool("host"), ["100", "9", "77", "fip-1"])] == ["9", "100"]
        assert list(u.resources.list(Pool("host"), [])) == []
        assert [r.id for r in u.resources.list(Pool("floatingip"))] == ["fip-1"]


def test_pages_are_the_list_without_what_it_does_not_show(database: Database) -> None:
    register(database, *map(host, ["10", "9", "b", "100"]), ADDRESS)
    with database.read() as u:
        everything = [replace(r, traits=frozenset(), inventory={}) for r in u.resources.list(Pool("host"))]
        assert list(u.resources.page(Pool("host"), 2)) == everything[:2]
        assert list(u.resources.page(Pool("host"), 5, "10")) == everything[2:]
        assert list(u.resources.page(Pool("host"), 5, "b")) == []


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 100])
def test_ids_come_in_pages_in_the_order_of_the_list(database: Database, limit: int) -> None:
    """Also after ids that are not there any more."""
    register(database, *map(host, ["10", "9", "b", "100", "a", "4294967296", "99", "1a"]), ADDRESS)
    with database.read() as u:
        everything = [r.id for r in u.resources.list(Pool("host"))]
        found: list[str] = []
        while page := u.resources.ids(Pool("host"), limit, found[-1] if found else None):
            assert len(page) <= limit
            found += page
        assert found == everything == ["9", "10", "99", "100", "4294967296", "1a", "a", "b"]
        for absent in ("0", "11", "98", "101", "999999999999", "0a", "aa", "z", "fip-1"):
            follow = sorted([*everything, absent], key=database_order)
            follow = follow[follow.index(absent) + 1 :]
            assert list(u.resources.ids(Pool("host"), limit, absent)) == follow[:limit]
        assert list(u.resources.ids(Pool("floatingip"), limit)) == ["fip-1"]
        assert list(u.resources.ids(Pool("none"), limit)) == []


def test_saves_what_the_cloud_and_the_operator_tell(database: Database) -> None:
    register(database, host("1"))
    new = replace(
        read(database, "1"),
        facts={"vcpus": 32},
        capabilities={"größe": "🙂"},
        traits=frozenset({"CUSTOM_NEW"}),
        inventory={"VGPU": Inventory(2, 1)},
        reservable=False,
    )
    told = database.transact(lambda u: u.resources.save(new, LATER))
    assert told == read(database, "1") == replace(new, generation=1, updated_at=LATER)


@pytest.mark.parametrize("reason", [FailureReason.DOWN, FailureReason.DISABLED])
@pytest.mark.parametrize("back_since", [None, LATER])
def test_keeps_a_failure_beside_what_the_operator_says(
    database: Database, reason: FailureReason, back_since: datetime | None
) -> None:
    register(database, host("10"), host("9"), host("8"), ADDRESS)
    failure = Failure(reason, NOW, back_since)
    for name in ("10", "9", "fip-1"):
        failed = replace(read(database, name), failure=failure)
        database.transact(lambda u, f=failed: u.resources.save(f, LATER))  # type: ignore[misc]
    found = read(database, "9")
    assert (found.failure, found.reservable, found.can_be_reserved) == (failure, True, False)
    assert not found.resource.reservable
    with database.read() as u:
        assert [r.id for r in u.resources.failed(Pool("host"))] == ["9", "10"]
        listed = {r.id: r for r in u.resources.page(Pool("host"), 10)}
        (occupied,) = [r for r, _ in u.resources.occupancy(Pool("host"), ["9"])]
    assert not occupied.resource.reservable
    assert {id_: each.failure for id_, each in listed.items()} == {"8": None, "9": failure, "10": failure}
    assert listed["9"] == replace(found, traits=frozenset(), inventory={})
    database.transact(lambda u: u.resources.save(replace(found, failure=None), LATER))
    with database.read() as u:
        assert [r.id for r in u.resources.failed(Pool("host"))] == ["10"]
    assert read(database, "9").can_be_reserved


def test_finds_what_no_lease_may_get(database: Database) -> None:
    register(database, host("10"), host("9"), host("8"), ADDRESS)
    for name in ("10", "9", "fip-1"):
        kept = replace(read(database, name), reservable=False)
        database.transact(lambda u, k=kept: u.resources.save(k, LATER))  # type: ignore[misc]
    failed = replace(read(database, "8"), failure=Failure(FailureReason.DOWN, NOW, None))
    database.transact(lambda u: u.resources.save(failed, LATER))
    with database.read() as u:
        assert [r.id for r in u.resources.unreservable(Pool("host"))] == ["9", "10"]


def test_does_not_save_over_somebody_elses_change(database: Database) -> None:
    register(database, host("1"))
    old = read(database, "1")
    database.transact(lambda u: u.resources.bump({"1": 0}, LATER))
    with pytest.raises(Stale):
        database.transact(lambda u: u.resources.save(replace(old, reservable=False), LATER))
    assert read(database, "1") == replace(old, generation=1)


def test_removes_by_generation(database: Database) -> None:
    register(database, host("1"), host("2"))
    with pytest.raises(Stale):
        database.transact(lambda u: u.resources.remove("1", 3))
    database.transact(lambda u: u.resources.remove("1", 0))
    assert generations(database) == {"2": 0}
    with pytest.raises(Stale):
        database.transact(lambda u: u.resources.remove("1", 0))


# ------------------------------------------------------------------------------------------------ generations


def test_bumps_all_or_none(database: Database) -> None:
    register(database, *(host(str(n)) for n in range(1, 4)))
    database.transact(lambda u: u.resources.bump({"1": 0, "2": 0}, LATER))
    assert generations(database) == {"1": 1, "2": 1, "3": 0}
    for mistaken in ({"3": 0, "1": 0}, {"3": 0, "2": 2}, {"3": 0, "4": 0}):
        with pytest.raises(Stale):
            bump(database, mistaken)
    assert generations(database) == {"1": 1, "2": 1, "3": 0}


def test_bumps_nothing(database: Database) -> None:
    register(database, host("1"))
    database.transact(lambda u: u.resources.bump({}, LATER))
    database.transact(lambda u: u.resources.touch([], LATER))
    assert generations(database) == {"1": 0}


def test_bumps_more_than_fit_into_one_statement(database: Database) -> None:
    register(database, *(host(str(n)) for n in range(1201)))
    database.transact(lambda u: u.resources.bump({str(n): 0 for n in range(1201)}, LATER))
    assert set(generations(database).values()) == {1}
    with pytest.raises(Stale):
        database.transact(lambda u: u.resources.bump({str(n): int(n != 1200) for n in range(1201)}, LATER))
    assert set(generations(database).values()) == {1}


def test_touches_whatever_the_generation_is(database: Database) -> None:
    register(database, *(host(str(n)) for n in range(3)))
    database.transact(lambda u: u.resources.bump({"1": 0}, NOW))
    database.transact(lambda u: u.resources.touch(["1", "2", "2", "absent"], LATER))
    assert generations(database) == {"0": 0, "1": 2, "2": 1}
    with database.read() as u:
        assert u.resources.generations(Pool("host"), LATER) == {"1": 2, "2": 1}


def test_tells_what_changed_since(database: Database) -> None:
    register(database, *(host(str(n)) for n in range(4)), ADDRESS)
    second = replace(read(database, "2"), reservable=False)
    database.transact(lambda u: u.resources.bump({"1": 0}, NOW + minutes(1)))
    database.transact(lambda u: u.resources.save(second, NOW + minutes(2)))
    database.transact(lambda u: u.resources.add(host("5"), NOW + minutes(3)))
    with database.read() as u:
        assert u.resources.generations(Pool("host"), NOW + minutes(2)) == {"2": 1, "5": 0}
        assert u.resources.generations(Pool("host"), NOW + minutes(1)) == {"1": 1, "2": 1, "5": 0}
        assert len(u.resources.generations(Pool("host"), NOW)) == 5
        assert u.resources.generations(Pool("host"), NOW + minutes(4)) == {}
        assert u.resources.generations(Pool("floatingip")) == {"fip-1": 0}
    assert read(database, "1").updated_at is None


# -------------------------------------------------------------------------------------------------- occupancy


def occupancy(database: Database, ids: list[str] | None = None) -> dict[str, list[Allocation]]:
    with database.read() as u:
        found = [(r.id, list(allocations)) for r, allocations in u.resources.occupancy(Pool("host"), ids)]
    assert len(found) == len(dict(found))
    return dict(found)


def test_occupancy_is_every_resource_with_what_is_on_it(database: Database) -> None:
    register(database, *(host(str(n)) for n in (1, 2, 9, 10, 11)), host("b"), ADDRESS)
    first, second = lease("10", "2"), lease("10", start=START + hours(5), usage=Usage({"VCPU": 2}), slots=3)
    ended, elsewhere = lease("10", "11", status=LeaseStatus.TERMINATED), lease("fip-1", "unknown")
    database.transact(lambda u: [u.leases.add(value, NOW) for value in (first, second, ended, elsewhere)])
    everything = occupancy(database)
    assert everything.keys() == {"1", "2", "9", "10", "11", "b"}
    assert {a.lease_id for a in everything["10"]} == {first.id, second.id}
    assert [replace(a, created_at=None) for a in everything["10"] if a.lease_id == second.id] == [
        *second.allocations
    ]
    assert [a.lease_id for a in everything["2"]] == [first.id]
    assert [everything[id_] for id_ in ("1", "9", "11", "b")] == [[]] * 4
    assert occupancy(database, ["2", "11", "fip-1", "absent"]) == {"2": everything["2"], "11": []}
    assert occupancy(database, []) == {}


def test_occupancy_tells_the_generation(database: Database) -> None:
    register(database, host("1"))
    database.transact(lambda u: u.resources.bump({"1": 0}, LATER))
    with database.read() as u:
        (whole,), (some,) = u.resources.occupancy(Pool("host")), u.resources.occupancy(Pool("host"), ["1"])
    assert whole == some == (replace(host("1"), generation=1, created_at=NOW), [])


def test_what_a_calendar_begins_with(database: Database) -> None:
    """Each is asked for when it is used, for a database tells one after the other."""
    register(database, *(host(str(n)) for n in (1, 2, 10)), ADDRESS)
    kept, ended = lease("10", "2"), lease("2", status=LeaseStatus.TERMINATED)
    database.transact(lambda u: [u.leases.add(each, NOW) for each in (kept, ended, lease("fip-1"))])
    with database.read() as u:
        resources, allocations = u.resources.every(Pool("host")), u.resources.reserved(Pool("host"))
        assert sorted(each.id for each in resources) == ["1", "10", "2"]
        found = sorted(allocations, key=lambda each: each.resource_id)
        assert [(each.resource_id, each.lease_id) for each in found] == [("10", kept.id), ("2", kept.id)]
        assert {each.resource_id: [each] for each in found} == {
            r.id: a for r, a in u.resources.occupancy(Pool("host")) if a
        }


def test_occupancy_of_an_empty_pool(database: Database) -> None:
    assert occupancy(database) == {}


def changes(database: Database, known: Mapping[str, int | None]) -> dict[str, ResourceChange]:
    with database.read() as u:
        return {each.registration.id: each for each in u.resources.changes(Pool("host"), known)}


def test_tells_what_leases_have_changed(database: Database) -> None:
    first, other, ended = lease("1", "2"), lease("1"), lease("1", status=LeaseStatus.TERMINATED)
    register(database, host("1"), host("2", generation=7), ADDRESS)
    database.transact(lambda u: [u.leases.add(each, NOW) for each in (first, other, ended)])
    database.transact(lambda u: u.resources.bump({"1": 0}, NOW, [other.id]))
    database.transact(lambda u: u.resources.bump({"1": 1, "2": 7}, NOW, [first.id]))
    database.transact(lambda u: u.resources.touch(["1", ADDRESS.id, "absent"], NOW, [ended.id, "deleted"]))
    found = changes(database, {"1": 1, "2": 7, ADDRESS.id: 0, "absent": 0})
    assert found.keys() == {"1", "2"}
    assert [found[id_].registration for id_ in ("1", "2")] == [read(database, id_) for id_ in ("1", "2")]
    assert found["1"].lease_ids == {first.id, ended.id, "deleted"}
    assert found["2"].lease_ids == {first.id}
    assert [each.lease_id for each in found["1"].allocations] == [first.id]
    assert found["2"].allocations == occupancy(database)["2"]
    everything = changes(database, {"1": 0})["1"]
    assert everything.lease_ids == {first.id, other.id, ended.id, "deleted"}
    assert sorted(a.lease_id for a in everything.allocations) == sorted([first.id, other.id])
    assert changes(database, {}) == {}


def test_tells_all_where_it_is_not_known_what_has_changed(database: Database) -> None:
    first, other = lease("1"), lease("1", start=START + hours(5))
    register(database, host("1"))
    database.transact(lambda u: [u.leases.add(each, NOW) for each in (first, other)])

    def told(known: int | None) -> frozenset[str] | None:
        """What is told of the resource, which is all where the leases are not told."""
        change = changes(database, {"1": known})["1"]
        if change.lease_ids is None:
            assert set(change.allocations) == set(occupancy(database)["1"])
            assert len(change.allocations) == 2
        return change.lease_ids

    assert told(None) is None, "a resource that is not known yet"
    assert told(0) is None, "there is no change"
    database.transact(lambda u: u.resources.bump({"1": 0}, NOW, [first.id]))
    database.transact(lambda u: u.resources.bump({"1": 1}, NOW))
    database.transact(lambda u: u.resources.touch(["1"], NOW, [other.id]))
    assert told(2) == {other.id}
    assert told(1) is None, "one change told no leases"
    database.transact(lambda u: u.resources.save(replace(read(database, "1"), reservable=False), NOW))
    assert told(2) is None, "the resource itself has changed"
    database.transact(lambda u: u.resources.remove("1", 4))
    register(database, host("1", generation=2))
    database.transact(lambda u: u.resources.touch(["1"], NOW, [other.id]))
    assert told(1) is None, "it was registered anew"
    assert told(2) == {other.id}


def test_tells_as_many_changes_as_have_room(database: Database) -> None:
    register(database, host("1"))
    for number in range(40):
        database.transact(lambda u, n=number: u.resources.bump({"1": n}, NOW, [f"{n:036}"]))
    assert changes(database, {"1": 25})["1"].lease_ids == {f"{n:036}" for n in range(25, 40)}
    assert changes(database, {"1": 0})["1"].lease_ids is None


def test_finds_allocations_by_all_conditions(database: Database) -> None:
    register(database, *(host(str(n)) for n in (1, 2, 10)))
    early, late = lease("10", "2"), lease("2", start=START + hours(5))
    ended = lease("1", start=START - hours(5), status=LeaseStatus.TERMINATED)
    database.transact(lambda u: [u.leases.add(value, NOW) for value in (late, early, ended, lease("77"))])
    with database.read() as u:

        def found(**conditions: object) -> list[tuple[str, str]]:
            allocations = u.resources.allocations(Pool("host"), **conditions)  # type: ignore[arg-type]
            return [(allocation.resource_id, allocation.lease_id) for allocation in allocations]

        assert found() == [("1", ended.id), ("2", early.id), ("2", late.id), ("10", early.id)]
        assert found(resource_ids=["2"]) == [("2", early.id), ("2", late.id)]
        assert found(lease_id=early.id) == [("2", early.id), ("10", early.id)]
        assert found(reservation_id=early.reservations[0].id, resource_ids=["10"]) == [("10", early.id)]
        assert found(ending_after=START + hours(1), resource_ids=["2"]) == [("2", early.id), ("2", late.id)]
        assert found(ending_after=START + hours(1) + minutes(1)) == [("2", late.id)]
        assert found(resource_ids=["1"], lease_id=early.id) == []
        assert found(resource_ids=["10", "1"]) == [("1", ended.id), ("10", early.id)]
        assert found(resource_ids=["10", "1"], lease_id=early.id) == [("10", early.id)]
        assert found(resource_ids=[]) == []
        many = [str(n) for n in range(1, 1300)]
        assert found(resource_ids=many, ending_after=START) == [*found(ending_after=START)]
        assert u.resources.allocations(Pool("floatingip"), resource_ids=["10"]) == []
        assert u.resources.allocations(Pool("floatingip")) == []


# ------------------------------------------------------------------------------------------------- properties


def test_keeps_a_record_of_each_property(database: Database) -> None:
    database.transact(lambda u: u.resources.add_properties("physical:host", ["gpu", "ssd"], NOW))
    database.transact(lambda u: u.resources.add_properties("physical:host", ["ssd", "nic"], LATER))
    database.transact(lambda u: u.resources.add_properties("flavor:instance", ["gpu"], NOW))
    database.transact(lambda u: u.resources.add_properties("physical:host", [], LATER))
    with database.read() as u:
        records = u.resources.private_properties("physical:host")
    assert list(records) == ["gpu", "nic", "ssd"]
    assert {(r.resource_type, r.name, r.private, r.updated_at) for r in records.values()} == {
        ("physical:host", name, False, None) for name in records
    }
    assert (records["ssd"].created_at, records["nic"].created_at) == (NOW, LATER)
    assert len({record.id for record in records.values()}) == 3


def test_makes_a_property_private_and_public_again(database: Database) -> None:
    database.transact(lambda u: u.resources.add_properties("physical:host", ["gpu", "ssd"], NOW))
    record = database.transact(
        lambda u: u.resources.set_property_private("physical:host", "gpu", True, LATER)
    )
    assert record is not None
    assert (record.private, record.updated_at) == (True, LATER)
    with database.read() as u:
        records = u.resources.private_properties("physical:host")
    assert (records["gpu"], records["ssd"].private) == (record, False)
    record = database.transact(
        lambda u: u.resources.set_property_private("physical:host", "gpu", False, LATER)
    )
    assert record is not None
    assert not record.private
    assert database.transact(lambda u: u.resources.set_property_private("x", "gpu", True, LATER)) is None
    assert (
        database.transact(lambda u: u.resources.set_property_private("physical:host", "GPU", True, NOW))
        is None
    )
