"""The Identity port: the cloud in memory, the sandbox and a real Keystone behave the same."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest

from blazar.domain.errors import CloudRefused, CloudUnavailable, TooLate

from .places import Place, label

FAR = datetime(2099, 1, 1, tzinfo=UTC)
NO_TRUST = "00000000000040008000000000000000"


def trust(place: Place, roles: tuple[str, ...] = ("member",), expires_at: datetime = FAR) -> str:
    identity = place.cloud.as_user(place.token).identity
    return identity.create_trust(place.user, place.project, roles, expires_at)


def test_by_a_trust_the_service_acts_as_its_user(place: Place) -> None:
    trust_id = trust(place)
    assert place.cloud.identity.is_trust_valid(trust_id)
    group = place.cloud.as_trustee(trust_id).compute.create_server_group(label(), "affinity")
    assert group.project_id == place.project
    with pytest.raises(CloudRefused):
        place.cloud.as_trustee(trust_id).compute.aggregates()


def test_keystone_says_where_it_is(place: Place) -> None:
    assert urlsplit(place.cloud.identity.endpoint()).scheme in ("http", "https")


def test_the_service_has_a_token_of_its_own(place: Place) -> None:
    identity = place.cloud.for_request(lambda: 30.0).identity
    assert identity.own_token() == identity.own_token() != place.token


def test_a_request_that_is_over_asks_keystone_nothing(place: Place) -> None:
    identity = place.cloud.for_request(lambda: 0.0).identity
    for ask in (identity.endpoint, identity.own_token):
        with pytest.raises(TooLate):
            ask()


def test_a_deleted_trust_is_good_for_nothing(place: Place) -> None:
    identity, trust_id = place.cloud.identity, trust(place)
    for _ in range(2):
        identity.delete_trust(trust_id)
    assert not identity.is_trust_valid(trust_id)
    with pytest.raises(CloudRefused):
        place.cloud.as_trustee(trust_id).compute.flavor("nope")


def test_each_trust_is_one_of_its_own_also_to_the_same_moment(place: Place) -> None:
    first, second = trust(place), trust(place)
    place.cloud.identity.delete_trust(first)
    assert place.cloud.identity.is_trust_valid(second)
    assert place.cloud.identity.is_trust_valid(trust(place))


def test_a_trust_dies_with_its_user_and_is_deleted_all_the_same(place: Place) -> None:
    identity, trust_id = place.cloud.identity, trust(place)
    place.remove_user()
    assert not identity.is_trust_valid(trust_id)
    with pytest.raises(CloudRefused):
        place.cloud.as_trustee(trust_id).compute.create_server_group(label(), "affinity")
    for _ in range(2):
        identity.delete_trust(trust_id)


@pytest.mark.parametrize("nonsense", ["nope", NO_TRUST])
def test_what_is_no_trust_is_not_valid_and_needs_no_deletion(place: Place, nonsense: str) -> None:
    assert not place.cloud.identity.is_trust_valid(nonsense)
    place.cloud.identity.delete_trust(nonsense)


def test_nobody_trusts_in_the_name_of_another(place: Place) -> None:
    theirs = place.cloud.as_user(place.other_token).identity
    with pytest.raises(CloudRefused):
        theirs.create_trust(place.user, place.project, ("member",), FAR)
    with pytest.raises(CloudRefused):
        place.cloud.identity.create_trust(place.user, place.project, ("member",), FAR)


@pytest.mark.parametrize("roles", [("admin",), ("member", "admin"), ("nope",), ()])
def test_only_roles_that_the_user_has_are_passed_on(place: Place, roles: tuple[str, ...]) -> None:
    with pytest.raises(CloudRefused):
        trust(place, roles)


def test_a_fence_stands_before_each_request(place: Place) -> None:
    def fallen() -> None:
        raise CloudUnavailable(service="fence", reason="fallen")

    trust_id = trust(place)
    fenced = place.cloud.fenced(fallen).identity
    for call in (
        lambda: fenced.create_trust(place.user, place.project, ("member",), FAR),
        lambda: fenced.is_trust_valid(trust_id),
        lambda: fenced.delete_trust(trust_id),
    ):
        with pytest.raises(CloudUnavailable, match="fallen"):
            call()
    assert place.cloud.identity.is_trust_valid(trust_id)


def test_the_limits_of_a_project_and_those_of_all(place: Place) -> None:
    common, own, other = label(), label(), label()
    for name, number in ((common, 3), (own, 5), (other, -1)):
        place.register_limit(name, number)
    place.limit(own, 7)
    identity = place.cloud.for_request(lambda: 30.0).identity
    found = identity.unified_limits(place.project)
    assert found.registered.items() >= {common: 3, own: 5, other: -1}.items()
    assert found.own == {place.project: {own: 7}}
    assert not identity.unified_limits(NO_TRUST).own
    assert identity.unified_limits().own[place.project] == {own: 7}


def test_keystone_knows_the_addresses_of_users(place: Place) -> None:
    identity = place.cloud.for_request(lambda: 30.0).identity
    place.change_user(True, None)
    assert identity.email(place.user) is None
    place.change_user(True, "anna@example.com")
    assert identity.email(place.user) == "anna@example.com"
    for unknown in ("nope", "no/such user"):
        assert identity.email(unknown) is None
    place.change_user(False, "anna@example.com")
    assert identity.email(place.user) is None


def test_of_a_user_who_is_gone_there_is_no_address(place: Place) -> None:
    user = place.user
    place.change_user(True, "anna@example.com")
    place.remove_user()
    assert place.cloud.identity.email(user) is None


def test_limits_are_read_in_time_or_not_at_all(place: Place) -> None:
    with pytest.raises(TooLate):
        place.cloud.for_request(lambda: 0.0).identity.unified_limits(place.project)
