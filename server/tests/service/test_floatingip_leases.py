"""Reserved floating IPs: what users get, what they are told when they can't, and that those of others are
not touched."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blazar.domain.errors import (
    BlazarError,
    CloudUnavailable,
    InvalidInput,
    InvalidIPFormat,
    MalformedParameter,
    MissingParameter,
    NotEnoughResources,
)
from blazar.domain.lease.lease import LeaseStatus, ReservationStatus
from blazar.kinds.floatingip.errors import (
    CantUpdateFloatingIPReservation,
    FloatingIPNetworkNotExternal,
    FloatingIPNetworkNotFound,
    NotEnoughFloatingIPs,
    TooManyRequiredFloatingIPs,
)
from blazar.service.commands import NOW, ReservationChange, ReservationRequest
from blazar.service.ports import Subnet

from .world import ALT, DEMO, PUBLIC, World, address, floating_ips, instances, whole_hosts


@pytest.fixture
def world() -> World:
    return World(hosts=2, floating_ips=4)


def only(lease):
    (reservation,) = lease.reservations
    return reservation


def change(lease, **parameters):
    return (ReservationChange(only(lease).id, parameters),)


def active(world, **fields):
    lease = world.reserve(floating_ips(**fields), end=600)
    world.run_due()
    return world.lease(lease)


def at(world, number):
    """The floating IP at an address, as Neutron knows it."""
    return world.cloud.network.floating_ip(PUBLIC, address(number))


def reserved(world, lease):
    """The addresses that the lease's reservations occupy."""
    by_id = {each.id: each.facts["floating_ip_address"] for each in world.floatingips.list()}
    return {by_id[a.resource_id] for a in world.lease(lease).allocations if a.resource_id in by_id}


class TestLife:
    def test_the_addresses_are_the_projects_while_the_lease_is_active(self, world):
        lease = world.reserve(floating_ips(amount=2), start=10, end=60)
        assert lease.status is LeaseStatus.PENDING
        assert not world.floating_ips()
        world.advance(minutes=10)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert only(world.lease(lease)).status is ReservationStatus.ACTIVE
        assert world.floating_ips() == reserved(world, lease)
        assert len(world.floating_ips()) == 2
        world.advance(minutes=50)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert only(world.lease(lease)).status is ReservationStatus.DELETED
        assert not world.cloud.state.floating_ips
        assert not world.lease(lease).allocations

    def test_they_are_tagged_and_described(self, world):
        lease = active(world)
        mark = f"reservation:{only(lease).id}"
        (made,) = world.cloud.state.floating_ips.values()
        assert (made.project_id, made.network_id) == ("demo", PUBLIC)
        assert (made.tags, made.description) == ({"blazar", mark}, mark)

    def test_they_are_taken_back_from_the_port_they_lead_to(self, world):
        lease = active(world, required_floatingips=[address(1)])
        made = at(world, 1)
        world.cloud.state.floating_ips[made.id] = replace(made, port_id="port")
        world.cloud.calls.clear()
        world.advance(minutes=1)
        world.update(lease, end=NOW)
        world.run_due()
        assert not world.cloud.state.floating_ips
        calls = world.cloud.calls
        assert calls.index("disassociate_floating_ip") < calls.index("delete_floating_ip")

    def test_a_deletion_takes_them_back_too(self, world):
        lease = active(world, amount=3)
        world.delete(lease)
        world.run_due()
        assert not world.leases.list(None)
        assert not world.cloud.state.floating_ips

    def test_the_next_lease_gets_an_address_when_the_one_before_has_left_it(self, world):
        first = world.reserve(floating_ips(required_floatingips=[address(1)]), end=60)
        second = world.reserve(floating_ips(required_floatingips=[address(1)]), start=60, end=120, caller=ALT)
        world.advance(minutes=30)
        assert world.floating_ips("demo") == {address(1)}
        world.advance(minutes=31)
        assert world.lease(first).status is LeaseStatus.TERMINATED
        assert world.lease(second).status is LeaseStatus.ACTIVE
        assert (world.floating_ips("demo"), world.floating_ips("alt")) == (set(), {address(1)})

    def test_the_start_waits_while_neutron_does_not_give_the_address_back(self, world):
        first = world.reserve(floating_ips(required_floatingips=[address(1)]), end=60)
        second = world.reserve(floating_ips(required_floatingips=[address(1)]), start=60, end=120, caller=ALT)
        world.advance(minutes=30)

        def keep(call: str) -> None:
            if call == "delete_floating_ip":
                raise CloudUnavailable(service="Neutron", reason="503")

        world.cloud.before = keep
        world.advance(minutes=35)
        assert world.lease(first).status is LeaseStatus.TERMINATING
        assert world.lease(second).status is LeaseStatus.PENDING
        world.cloud.before = lambda call: None
        world.advance(minutes=1)
        assert world.lease(second).status is LeaseStatus.ACTIVE
        assert world.floating_ips("alt") == {address(1)}

    def test_the_answer_has_the_fields_of_the_api(self, world):
        lease = world.reserve(floating_ips(amount="2", required_floatingips=[address(2)]))
        assert world.kinds["virtual:floatingip"].render(only(lease)) == {
            "network_id": PUBLIC,
            "amount": 2,
            "required_floatingips": [address(2)],
        }

    def test_nothing_is_made_in_the_users_name(self, world):
        assert active(world).trust_id is None
        assert not world.cloud.state.trusts


class TestChoice:
    def test_required_addresses_are_among_them(self, world):
        lease = world.reserve(floating_ips(amount=3, required_floatingips=[address(4), address(2)]))
        assert reserved(world, lease) > {address(2), address(4)}
        assert len(reserved(world, lease)) == 3

    def test_two_reservations_of_a_lease_share_no_address(self, world):
        lease = world.reserve(floating_ips(amount=2), floating_ips(amount=2))
        assert len(reserved(world, lease)) == 4

    def test_what_one_reservation_of_a_lease_requires_another_leaves_alone(self, world):
        lease = world.reserve(floating_ips(amount=3), floating_ips(required_floatingips=[address(1)]))
        assert len(reserved(world, lease)) == 4
        plain, particular = lease.reservations
        assert len(plain.allocations) == 3
        assert len(particular.allocations) == 1

    def test_other_networks_have_addresses_of_their_own(self, world):
        world.cloud.add_network("other", Subnet("subnet2", "203.0.113.0/24", None, ()))
        world.register_floating_ip(address(1), "other")
        lease = active(world, network_id="other")
        (made,) = world.cloud.state.floating_ips.values()
        assert (made.network_id, made.address) == ("other", address(1))
        with pytest.raises(NotEnoughFloatingIPs):
            world.reserve(floating_ips(network_id="other"), end=60)
        assert len(reserved(world, lease)) == 1

    def test_cleaning_time_is_kept(self):
        world = World(hosts=0, floating_ips=1, cleaning=timedelta(minutes=5))
        world.reserve(floating_ips(), end=60)
        with pytest.raises(NotEnoughFloatingIPs):
            world.reserve(floating_ips(), start=64, end=100)
        world.reserve(floating_ips(), start=65, end=100)

    def test_hosts_and_floating_ips_are_different_things(self, world):
        world.reserve(whole_hosts(min=2, max=2), floating_ips(amount=4), end=60)
        with pytest.raises(NotEnoughResources, match="Not enough hosts"):
            world.reserve(whole_hosts(), end=60)
        with pytest.raises(NotEnoughFloatingIPs, match="Not enough floating IPs"):
            world.reserve(floating_ips(), end=60)


class TestRefusal:
    def refused(self, world, **fields):
        with pytest.raises(BlazarError) as raised:
            world.reserve(floating_ips(**fields), end=60)
        assert not world.leases.list(None)
        assert not world.cloud.state.floating_ips
        return raised.value

    @pytest.mark.parametrize("amount", [0, -1, "0", "-1", "one", "1.0", 1.5, True, [1], {}, 10**12, "9" * 30])
    def test_of_an_amount_that_is_none(self, world, amount):
        refusal = self.refused(world, amount=amount)
        assert isinstance(refusal, MalformedParameter)
        assert refusal.message.startswith("Malformed parameter amount")

    @pytest.mark.parametrize("missing", ["network_id", "amount"])
    @pytest.mark.parametrize("blank", ["", None])
    def test_of_a_request_that_lacks_something(self, world, missing, blank):
        refusal = self.refused(world, **{missing: blank})
        assert isinstance(refusal, MissingParameter)
        assert refusal.message == f"Missing parameter {missing}"

    def test_of_an_empty_request(self, world):
        with pytest.raises(MissingParameter, match="network_id,amount"):
            world.reserve(ReservationRequest("virtual:floatingip", {}))

    @pytest.mark.parametrize("network_id", ["nope", "NULL", "../x", "a" * 255])
    def test_of_a_network_that_is_not_there(self, world, network_id):
        refusal = self.refused(world, network_id=network_id)
        assert isinstance(refusal, FloatingIPNetworkNotFound)
        assert refusal.message == f"Failed to find network {network_id}"

    @pytest.mark.parametrize("network_id", [5, True, ["public"], {}, "a\nb", "a\0b", "a" * 256])
    def test_of_a_network_id_that_is_none(self, world, network_id):
        assert isinstance(self.refused(world, network_id=network_id), MalformedParameter)

    def test_of_a_network_that_is_not_external(self, world):
        world.cloud.add_network("inside", is_external=False)
        assert isinstance(self.refused(world, network_id="inside"), FloatingIPNetworkNotExternal)

    def test_without_a_token_to_see_the_network_with(self, world):
        with pytest.raises(InvalidInput, match="token"):
            world.reserve(floating_ips(), caller=replace(DEMO, token=None))

    @pytest.mark.parametrize(
        "text", ["nope", "203.0.113.999", "203.0.113.0/24", "", 5, None, ["203.0.113.101"]]
    )
    def test_of_what_is_no_address(self, world, text):
        assert isinstance(self.refused(world, required_floatingips=[text]), InvalidIPFormat)

    @pytest.mark.parametrize("required", [address(1), {"a": 1}, 5, [address(1)] * 1001])
    def test_of_what_is_no_list_of_addresses(self, world, required):
        assert isinstance(self.refused(world, amount=2000, required_floatingips=required), MalformedParameter)

    def test_of_more_required_addresses_than_wanted(self, world):
        refusal = self.refused(world, amount=1, required_floatingips=[address(1), address(2)])
        assert isinstance(refusal, TooManyRequiredFloatingIPs)

    def test_but_an_address_that_is_named_twice_counts_once(self, world):
        lease = world.reserve(floating_ips(amount=1, required_floatingips=[address(1), address(1)]))
        assert reserved(world, lease) == {address(1)}

    def test_null_for_no_required_addresses_is_understood(self, world):
        assert (
            only(world.reserve(floating_ips(required_floatingips=None))).parameters["required_floatingips"]
            == []
        )

    def test_of_a_required_address_that_is_not_registered(self, world):
        refusal = self.refused(world, required_floatingips=["203.0.113.250"])
        assert isinstance(refusal, NotEnoughFloatingIPs)
        assert refusal.message == "Not enough floating IPs available: 203.0.113.250 cannot be had."

    def test_of_a_required_address_that_is_reserved(self, world):
        world.reserve(floating_ips(required_floatingips=[address(3)]), end=60)
        with pytest.raises(NotEnoughFloatingIPs) as raised:
            world.reserve(floating_ips(amount=2, required_floatingips=[address(3)]), end=60)
        assert raised.value.message == (
            "Not enough floating IPs available: 203.0.113.103 cannot be had; first possible start "
            "2030-01-01 09:00."
        )

    def test_of_more_than_there_are(self, world):
        refusal = self.refused(world, amount=5)
        assert (
            refusal.message == "Not enough floating IPs available: 4 floating IPs match, 4 of them are free."
        )

    def test_of_more_than_are_free(self, world):
        world.reserve(floating_ips(amount=3), end=60)
        with pytest.raises(NotEnoughFloatingIPs) as raised:
            world.reserve(floating_ips(amount=2), start=30, end=90)
        assert raised.value.message == (
            "Not enough floating IPs available: 4 floating IPs match, 1 of them is free; "
            "first possible start 2030-01-01 09:00."
        )

    def test_on_a_network_without_registered_addresses(self, world):
        world.cloud.add_network("empty", Subnet("subnet2", "198.51.100.0/24", None, ()))
        refusal = self.refused(world, network_id="empty")
        assert refusal.message == "Not enough floating IPs available: no floating IP matches."


class TestTogether:
    """Reservations of several kinds in one lease: all or nothing."""

    def test_a_host_and_an_address_start_and_end_together(self, world):
        lease = world.reserve(whole_hosts(), instances(), floating_ips(amount=2), end=60)
        world.run_due()
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert len(world.floating_ips()) == 2
        assert len(world.cloud.hosts_in(lease.reservations[0].id)) == 1
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert not world.cloud.state.floating_ips
        assert world.in_freepool() == {"host1", "host2"}

    @pytest.mark.parametrize(
        "requests",
        [
            (whole_hosts(), instances(affinity=True), floating_ips(amount=5)),
            (floating_ips(amount=4), instances(affinity=True), whole_hosts(min=3, max=3)),
            (floating_ips(amount=2), instances(affinity=True), floating_ips(amount=3)),
            (instances(affinity=True), floating_ips(network_id="nope")),
        ],
        ids=["too few addresses", "too few hosts", "too few addresses for both", "no such network"],
    )
    def test_nothing_is_kept_or_left_where_one_cannot_be_had(self, world, requests):
        with pytest.raises(BlazarError):
            world.reserve(*requests, end=60)
        assert not world.leases.list(None)
        assert not world.cloud.state.groups
        assert not world.cloud.state.floating_ips
        world.reserve(whole_hosts(min=2, max=2), floating_ips(amount=4), end=60)

    def test_the_first_possible_start_is_one_for_all_of_them(self, world):
        world.reserve(whole_hosts(min=2, max=2), end=60)
        world.reserve(floating_ips(amount=4), start=30, end=120)
        world.reserve(whole_hosts(min=2, max=2), start=125, end=130)
        with pytest.raises(NotEnoughResources, match="first possible start 2030-01-01 10:10"):
            world.reserve(whole_hosts(), floating_ips(), end=15)
        with pytest.raises(NotEnoughResources, match="first possible start 2030-01-01 09:00"):
            world.reserve(whole_hosts(), end=15)

    def test_a_start_that_will_never_suit_all_of_them_is_not_told(self, world):
        world.reserve(whole_hosts(min=2, max=2), end=60)
        with pytest.raises(NotEnoughResources) as raised:
            world.reserve(whole_hosts(), floating_ips(amount=5), end=15)
        assert "first possible start" not in raised.value.message

    def test_an_update_that_one_of_them_cannot_follow_changes_none(self, world):
        lease = world.reserve(whole_hosts(), floating_ips(), end=60)
        world.reserve(floating_ips(amount=4), start=60, end=120)
        world.run_due()
        before = world.lease(lease)
        with pytest.raises(NotEnoughFloatingIPs):
            world.update(lease, end=world.in_minutes(90))
        assert world.lease(lease) == before


class TestUpdate:
    def refused(self, world, lease, **parameters):
        before = world.lease(lease)
        with pytest.raises(BlazarError) as raised:
            world.update(lease, reservations=change(lease, **parameters))
        assert world.lease(lease) == before
        return raised.value

    def test_more_before_the_start(self, world):
        lease = world.reserve(floating_ips(required_floatingips=[address(2)]), start=10, end=60)
        lease = world.update(lease, reservations=change(lease, amount="3"))
        assert only(lease).parameters["amount"] == 3
        assert reserved(world, lease) > {address(2)}
        assert len(reserved(world, lease)) == 3

    def test_fewer_before_the_start_leave_the_required_ones(self, world):
        lease = world.reserve(floating_ips(amount=3, required_floatingips=[address(4)]), start=10, end=60)
        world.update(lease, reservations=change(lease, amount=1))
        assert reserved(world, lease) == {address(4)}
        world.reserve(floating_ips(amount=3), start=10, end=60)

    def test_more_while_active_are_there_at_once(self, world):
        lease = active(world)
        first = world.floating_ips()
        answer = world.update(lease, reservations=change(lease, amount=3))
        assert answer.status is LeaseStatus.ACTIVE
        world.run_due()
        assert world.floating_ips() > first
        assert world.floating_ips() == reserved(world, lease)
        assert len(world.floating_ips()) == 3
        assert all(a.bound for a in world.lease(lease).allocations)

    def test_fewer_while_active_are_refused(self, world):
        lease = active(world, amount=2)
        refusal = self.refused(world, lease, amount=1)
        assert isinstance(refusal, CantUpdateFloatingIPReservation)
        assert len(world.floating_ips()) == 2

    @pytest.mark.parametrize("is_active", [True, False])
    @pytest.mark.parametrize(
        "parameters",
        [
            {"network_id": "other"},
            {"required_floatingips": [address(3)]},
            {"required_floatingips": [address(1)] * 2},
        ],
        ids=["network", "another address", "an address of two"],
    )
    def test_what_is_not_to_be_changed(self, world, is_active, parameters):
        both = floating_ips(amount=2, required_floatingips=[address(1), address(2)])
        lease = world.reserve(both, start=0 if is_active else 10, end=600)
        world.run_due()
        assert isinstance(self.refused(world, lease, **parameters), CantUpdateFloatingIPReservation)

    def test_the_same_once_more_is_no_change(self, world):
        lease = active(world, amount=2, required_floatingips=[address(1), address(2)])
        same = {"network_id": PUBLIC, "amount": 2, "required_floatingips": [address(2), address(1)]}
        world.update(lease, reservations=change(lease, **same))
        world.update(lease, reservations=change(lease, network_id="", amount=None, required_floatingips=None))
        assert reserved(world, lease) == {address(1), address(2)}

    def test_a_required_address_may_be_given_up_but_is_kept(self, world):
        lease = world.reserve(floating_ips(required_floatingips=[address(3)]), start=10, end=60)
        lease = world.update(lease, reservations=change(lease, required_floatingips=[]))
        assert only(lease).parameters["required_floatingips"] == []
        assert reserved(world, lease) == {address(3)}

    @pytest.mark.parametrize("amount", [0, -1, "x", 5, 10**12])
    @pytest.mark.parametrize("is_active", [True, False])
    def test_an_amount_that_cannot_be_had(self, world, is_active, amount):
        lease = world.reserve(floating_ips(), start=0 if is_active else 10, end=60)
        world.run_due()
        self.refused(world, lease, amount=amount)

    def test_fewer_than_are_required(self, world):
        lease = world.reserve(
            floating_ips(amount=2, required_floatingips=[address(1), address(2)]), start=10, end=60
        )
        assert isinstance(self.refused(world, lease, amount=1), TooManyRequiredFloatingIPs)

    def test_what_the_lease_has_already_is_not_counted_against_it(self, world):
        lease = world.reserve(floating_ips(amount=4), start=10, end=60)
        world.update(lease, start=world.in_minutes(20), end=world.in_minutes(90))
        world.update(lease, reservations=change(lease, amount=3))
        world.update(lease, reservations=change(lease, amount=4), end=world.in_minutes(120))
        assert len(reserved(world, lease)) == 4

    def test_a_longer_lease_keeps_its_addresses(self, world):
        lease = active(world, amount=2)
        before = world.cloud.state.floating_ips.copy()
        world.update(lease, end=world.in_minutes(900))
        world.advance(minutes=700)
        assert world.lease(lease).status is LeaseStatus.ACTIVE
        assert world.cloud.state.floating_ips == before

    def test_an_address_that_is_promised_to_somebody_else_stops_it(self, world):
        lease = active(world, required_floatingips=[address(1)])
        world.reserve(floating_ips(required_floatingips=[address(1)]), start=600, end=660)
        before = world.lease(lease)
        with pytest.raises(NotEnoughFloatingIPs, match=r"of what it has, 203\.0\.113\.101 cannot be kept"):
            world.update(lease, end=world.in_minutes(630))
        assert world.lease(lease) == before

    def test_before_the_start_another_address_will_do(self, world):
        lease = world.reserve(floating_ips(), start=10, end=60)
        (first,) = reserved(world, lease)
        world.reserve(floating_ips(required_floatingips=[first]), start=60, end=120)
        world.update(lease, end=world.in_minutes(90))
        assert reserved(world, lease).isdisjoint({first})

    def test_the_network_is_asked_for_again_only_where_more_is_wanted_of_it(self, world):
        lease = active(world)
        del world.cloud.state.networks[PUBLIC]
        world.update(lease, end=world.in_minutes(900))
        world.update(lease, reservations=change(lease, amount=1))
        assert isinstance(self.refused(world, lease, amount=2), FloatingIPNetworkNotFound)

    def test_an_operator_changes_a_users_lease(self, world):
        lease = active(world)
        world.update(lease, caller=ALT, reservations=change(lease, amount=2))
        world.run_due()
        assert len(world.floating_ips("demo")) == 2


class TestMisfortune:
    def test_an_address_that_somebody_else_has_meanwhile(self, world):
        theirs = world.cloud.network.create_floating_ip(PUBLIC, "subnet", address(2), "alt", "mine")
        lease = active(world, amount=3, required_floatingips=[address(1), address(2), address(3)])
        assert lease.status is LeaseStatus.ERROR
        assert lease.status_reason == "The floating IP 203.0.113.102 is in use in Neutron."
        assert only(lease).status is ReservationStatus.ERROR
        assert list(world.cloud.state.floating_ips.values()) == [theirs]
        world.advance(minutes=601)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert list(world.cloud.state.floating_ips.values()) == [theirs]

    def test_an_address_that_the_users_own_project_has_otherwise(self, world):
        own = world.cloud.network.create_floating_ip(PUBLIC, "subnet", address(1), "demo", "from elsewhere")
        lease = active(world, required_floatingips=[address(1)])
        assert lease.status is LeaseStatus.ERROR
        world.delete(lease)
        world.run_due()
        assert list(world.cloud.state.floating_ips.values()) == [own]

    def test_an_address_that_something_else_has(self, world):
        world.cloud.state.used_addresses.add((PUBLIC, address(1)))
        lease = active(world, amount=2, required_floatingips=[address(1)])
        assert lease.status is LeaseStatus.ERROR
        assert "already allocated" in lease.status_reason
        assert not world.cloud.state.floating_ips

    def test_a_project_without_quota(self, world):
        world.cloud.state.without_quota.add("demo")
        lease = active(world, amount=2)
        assert lease.status is LeaseStatus.ERROR
        assert "Quota exceeded" in lease.status_reason

    def test_only_the_reservation_that_cannot_be_had_fails(self, world):
        world.cloud.state.without_quota.add("demo")
        lease = world.reserve(whole_hosts(), floating_ips(), end=60)
        world.run_due()
        statuses = [each.status for each in world.lease(lease).reservations]
        assert statuses == [ReservationStatus.ACTIVE, ReservationStatus.ERROR]
        world.advance(minutes=61)
        assert world.in_freepool() == {"host1", "host2"}

    def test_an_address_of_an_active_lease_that_cannot_be_added(self, world):
        lease = active(world, required_floatingips=[address(1)])
        world.cloud.state.without_quota.add("demo")
        world.update(lease, reservations=change(lease, amount=2))
        world.run_due()
        lease = world.lease(lease)
        assert lease.status is LeaseStatus.ACTIVE
        assert lease.degraded
        assert "Quota exceeded" in lease.status_reason
        assert world.floating_ips() == {address(1)}

    def test_what_a_user_deleted_is_put_back(self, world):
        lease = active(world, amount=2)
        before = world.floating_ips()
        world.cloud.state.floating_ips.popitem()
        world.restart()
        world.reconcile_all()
        world.run_due()
        assert world.floating_ips() == before
        assert world.lease(lease).status is LeaseStatus.ACTIVE

    def test_a_user_may_describe_and_tag_it(self, world):
        lease = active(world)
        (made,) = world.cloud.state.floating_ips.values()
        world.cloud.state.floating_ips[made.id] = replace(made, description="web", tags=frozenset({"web"}))
        world.reconcile_all()
        world.run_due()
        (kept,) = world.cloud.state.floating_ips.values()
        assert (kept.id, kept.description) == (made.id, "web")
        assert kept.tags == {"web", "blazar", f"reservation:{only(lease).id}"}

    def test_a_user_cannot_keep_it_by_making_it_unrecognisable(self, world):
        active(world)
        (made,) = world.cloud.state.floating_ips.values()
        world.cloud.state.floating_ips[made.id] = replace(made, description="", tags=frozenset())
        world.advance(minutes=601)
        assert not world.cloud.state.floating_ips

    def test_somebody_elses_at_the_end_is_left_alone(self, world):
        lease = active(world, required_floatingips=[address(1)])
        world.cloud.state.floating_ips.clear()
        theirs = world.cloud.network.create_floating_ip(PUBLIC, "subnet", address(1), "alt", "mine")
        world.advance(minutes=601)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        assert list(world.cloud.state.floating_ips.values()) == [theirs]

    def test_other_floating_ips_with_the_reservations_tag_are_left_alone(self, world):
        lease = active(world)
        own = world.cloud.network.create_floating_ip(PUBLIC, "subnet", "203.0.113.20", "demo", "own")
        world.cloud.network.set_floating_ip_tags(own.id, [f"reservation:{only(lease).id}"])
        world.advance(minutes=601)
        assert [f.id for f in world.cloud.state.floating_ips.values()] == [own.id]

    @pytest.mark.parametrize("when", ["before the start", "while active"])
    def test_a_network_that_is_gone_keeps_no_lease_from_its_end(self, world, when):
        lease = world.reserve(floating_ips(), start=10, end=60)
        world.advance(minutes=0 if when == "before the start" else 11)
        state = world.cloud.state
        state.networks.clear()
        state.subnets.clear()
        state.floating_ips.clear()
        world.advance(minutes=61)
        assert world.lease(lease).status is LeaseStatus.TERMINATED
        world.delete(lease)
        assert not world.leases.list(None)

    def test_neutron_is_away_at_the_start(self, world):
        def down(call: str) -> None:
            raise CloudUnavailable(service="Neutron", reason="503")

        lease = world.reserve(floating_ips(), start=10, end=600)
        world.cloud.before = down
        world.advance(minutes=15)
        assert world.lease(lease).status is LeaseStatus.STARTING
        assert "Neutron" in world.lease(lease).status_reason
        world.cloud.before = lambda call: None
        world.advance(minutes=1)
        assert world.lease(lease).status is LeaseStatus.ACTIVE


@pytest.mark.parametrize("failure", [StopIteration, KeyError])
def test_a_look_at_the_cloud_that_fails_in_any_way_makes_no_lease_without_reservations(world, failure):
    def fail(call: str) -> None:
        if call == "network":
            raise failure

    world.cloud.before = fail
    with pytest.raises((RuntimeError, KeyError)):
        world.reserve(floating_ips(), end=60)
    assert "lease.create" not in world.notifications()
