"""Tests of the rule, row by row of its table."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazarnova.rule import (
    MATCH_KEY,
    Aggregate,
    Reason,
    RequestSpec,
    Settings,
    decide,
    hinted_ids,
    pools_of,
    preference,
)

OWNER, STRANGER, FRIEND = "owner-project", "stranger-project", "friend-project"
DEFAULTS = Settings()
PREEMPTIBLES = Settings(allow_preemptibles=True)

FREEPOOL = Aggregate("freepool")
LENT = Aggregate("lent", metadata={"r1": "1"})
RACK = Aggregate("rack-7", "zone-1", {"ssd": "true"})


def reserved(name: str = "r1", zone: str | None = None, **metadata: str) -> Aggregate:
    return Aggregate(name, zone or f"blazar_{name}", {"blazar:owner": OWNER, **metadata})


def asks(project: str = OWNER, *hints: str, **specs: str) -> RequestSpec:
    return RequestSpec(
        project, frozenset(hints), {key.replace("__", ":"): value for key, value in specs.items()}
    )


FLAVOR_OF_RESERVATION = {"aggregate_instance_extra_specs__reservation": "r1"}
PREEMPTIBLE = {"blazar__preemptible": "true"}

OPEN = reserved(**{"blazar:match": "open"})
EXPECTING = Aggregate("r9", None, {"blazar:owner": OWNER, "blazar:server": "s1"})
RETURNING = RequestSpec(OWNER, server_id="s1")

TABLE = [
    ("row 0: the host is kept for it", RETURNING, [FREEPOOL, EXPECTING], DEFAULTS, Reason.SERVER_IS_EXPECTED),
    (
        "row 0: whatever hint it was booted with",
        RequestSpec(OWNER, frozenset({"r1"}), server_id="s1"),
        [FREEPOOL, EXPECTING],
        DEFAULTS,
        Reason.SERVER_IS_EXPECTED,
    ),
    (
        "row 0: kept for another server",
        RequestSpec(OWNER, server_id="s2"),
        [FREEPOOL, EXPECTING],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 0: a new server is no server that is expected",
        asks(),
        [FREEPOOL, EXPECTING],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 0: another project's",
        RequestSpec(STRANGER, server_id="s1"),
        [FREEPOOL, EXPECTING],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    ("row 1: hinted host in no pool", asks(OWNER, "r1"), [RACK], DEFAULTS, Reason.NOT_IN_RESERVATION),
    ("row 1: hinted host in no aggregate", asks(OWNER, "r1"), [], DEFAULTS, Reason.NOT_IN_RESERVATION),
    (
        "row 1: hinted host in another reservation",
        asks(OWNER, "r2"),
        [reserved()],
        DEFAULTS,
        Reason.NOT_IN_RESERVATION,
    ),
    ("row 1: hinted host still free", asks(OWNER, "r1"), [FREEPOOL], DEFAULTS, Reason.NOT_IN_RESERVATION),
    (
        "row 1: an aggregate of that name which is no pool",
        asks(OWNER, "rack-7"),
        [RACK],
        DEFAULTS,
        Reason.NOT_IN_RESERVATION,
    ),
    (
        "row 2: project granted by name",
        asks(FRIEND, "r1"),
        [reserved(**{FRIEND: "True"})],
        DEFAULTS,
        Reason.PROJECT_GRANTED,
    ),
    (
        "row 2: project granted, metadata as set",
        asks(FRIEND, "r1"),
        [Aggregate("r1", "blazar_r1", {"blazar:owner": OWNER, FRIEND: frozenset({"1"})})],
        DEFAULTS,
        Reason.PROJECT_GRANTED,
    ),
    (
        "row 2 not: an empty grant grants nothing",
        asks(FRIEND, "r1"),
        [reserved(**{FRIEND: ""})],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 2 not: an empty set grants nothing",
        asks(FRIEND, "r1"),
        [Aggregate("r1", "blazar_r1", {"blazar:owner": OWNER, FRIEND: frozenset()})],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    ("row 3: owner", asks(OWNER, "r1"), [RACK, reserved()], DEFAULTS, Reason.PROJECT_OWNS),
    (
        "row 3: owner, zone of a very old version",
        asks(OWNER, "r1"),
        [reserved(zone="blazar:r1")],
        DEFAULTS,
        Reason.PROJECT_OWNS,
    ),
    (
        "row 3: owner, metadata as set",
        asks(OWNER, "r1"),
        [Aggregate("r1", "blazar_r1", {"blazar:owner": frozenset({OWNER, "x"})})],
        DEFAULTS,
        Reason.PROJECT_OWNS,
    ),
    ("row 3: one of two hints", asks(OWNER, "r0", "r1"), [reserved()], DEFAULTS, Reason.PROJECT_OWNS),
    (
        "row 3: hint wins over the flavor",
        asks(STRANGER, "r1", **FLAVOR_OF_RESERVATION),
        [reserved()],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 4: another project that knows the id",
        asks(STRANGER, "r1"),
        [reserved()],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 4: the freepool itself as hint",
        asks(OWNER, "freepool"),
        [FREEPOOL],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 4: only the first matching pool counts",
        asks(OWNER, "r1", "r2"),
        [Aggregate("r2", "blazar_r2", {"blazar:owner": STRANGER}), reserved()],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 4: part of the owner's id is not the owner",
        asks("owner", "r1"),
        [reserved()],
        DEFAULTS,
        Reason.FOREIGN_RESERVATION,
    ),
    (
        "row 5: reservation flavor on a pool",
        asks(STRANGER, **FLAVOR_OF_RESERVATION),
        [FREEPOOL],
        DEFAULTS,
        Reason.RESERVED_FLAVOR,
    ),
    (
        "row 5: reservation flavor anywhere",
        asks(OWNER, **FLAVOR_OF_RESERVATION),
        [],
        DEFAULTS,
        Reason.RESERVED_FLAVOR,
    ),
    (
        "row 5: reservation flavor, whatever its value",
        asks(OWNER, aggregate_instance_extra_specs__reservation=""),
        [FREEPOOL],
        DEFAULTS,
        Reason.RESERVED_FLAVOR,
    ),
    (
        "row 6: preemptible on the freepool",
        asks(STRANGER, **PREEMPTIBLE),
        [RACK, FREEPOOL],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ALLOWED,
    ),
    (
        "row 6: preemptible, to be shelved",
        asks(STRANGER, blazar__preemptible="shelve"),
        [FREEPOOL],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ALLOWED,
    ),
    (
        "row 6: preemptible on an aggregate of its own",
        asks(STRANGER, blazar__preemptible=" Yes "),
        [Aggregate("spot")],
        Settings(allow_preemptibles=True, preemptible_aggregate="spot"),
        Reason.PREEMPTIBLE_ALLOWED,
    ),
    (
        "row 6: preemptible on a host that its reservation lends",
        asks(STRANGER, **PREEMPTIBLE),
        [RACK, reserved(), LENT],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_LENT,
    ),
    (
        "row 6: lent by a name of the operator's",
        asks(STRANGER, **PREEMPTIBLE),
        [reserved(), replace(LENT, name="idle")],
        Settings(allow_preemptibles=True, lent_aggregate="idle"),
        Reason.PREEMPTIBLE_LENT,
    ),
    (
        "row 7: lent by another reservation before",
        asks(STRANGER, **PREEMPTIBLE),
        [reserved("r2"), LENT],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: lent, and on its way to the freepool",
        asks(STRANGER, **PREEMPTIBLE),
        [reserved(), LENT, FREEPOOL],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: among the lent ones, and in no reservation",
        asks(STRANGER, **PREEMPTIBLE),
        [LENT],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 9: an ordinary server on a host that is lent",
        asks(STRANGER),
        [reserved(), LENT],
        PREEMPTIBLES,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: lent where preemptibles are not allowed",
        asks(STRANGER, **PREEMPTIBLE),
        [reserved(), LENT],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 3: the owner on a host that is lent",
        asks(OWNER, "r1"),
        [reserved(), LENT],
        DEFAULTS,
        Reason.PROJECT_OWNS,
    ),
    (
        "row 7: preemptible on a reserved host",
        asks(STRANGER, **PREEMPTIBLE),
        [reserved()],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: preemptible on a host of the freepool that serves a reservation of instances",
        asks(OWNER, **PREEMPTIBLE),
        [FREEPOOL, Aggregate("r3", metadata={"reservation": "r3", "filter_tenant_id": OWNER})],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: preemptible on a host under no reservation",
        asks(STRANGER, **PREEMPTIBLE),
        [RACK],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: freepool while another aggregate is the preemptible one",
        asks(STRANGER, **PREEMPTIBLE),
        [FREEPOOL],
        Settings(allow_preemptibles=True, preemptible_aggregate="spot"),
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    (
        "row 7: an aggregate that is freepool and reservation at once",
        asks(STRANGER, **PREEMPTIBLE),
        [Aggregate("freepool", "blazar_r1")],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    ("row 8: the owner's ordinary server", asks(OWNER), [RACK, OPEN], DEFAULTS, Reason.OPEN_MATCH),
    (
        "row 8: of a project that was granted access",
        asks(FRIEND),
        [reserved(**{FRIEND: "1", "blazar:match": "open"})],
        DEFAULTS,
        Reason.OPEN_MATCH,
    ),
    (
        "row 8: a preemptible flavor where preemptibles are not allowed",
        asks(OWNER, **PREEMPTIBLE),
        [OPEN],
        DEFAULTS,
        Reason.OPEN_MATCH,
    ),
    (
        "row 7: a preemptible server on an open reservation",
        asks(OWNER, **PREEMPTIBLE),
        [OPEN],
        PREEMPTIBLES,
        Reason.PREEMPTIBLE_ELSEWHERE,
    ),
    ("row 9: another project's open one", asks(STRANGER), [OPEN], DEFAULTS, Reason.HOST_IS_RESERVABLE),
    (
        "row 9: an open one that was closed",
        asks(OWNER),
        [reserved(**{"blazar:match": "explicit"})],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: on its way to the freepool",
        asks(OWNER),
        [OPEN, FREEPOOL],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: also in a reservation that is not open",
        asks(OWNER),
        [OPEN, reserved("r2")],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: an aggregate of the project that is no pool",
        asks(OWNER),
        [FREEPOOL, Aggregate("r3", None, OPEN.metadata)],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: preemptible where it is not allowed",
        asks(STRANGER, **PREEMPTIBLE),
        [FREEPOOL],
        DEFAULTS,
        Reason.HOST_IS_RESERVABLE,
    ),
    (
        "row 9: preemptible said no",
        asks(STRANGER, blazar__preemptible="false"),
        [FREEPOOL],
        PREEMPTIBLES,
        Reason.HOST_IS_RESERVABLE,
    ),
    ("row 9: the owner without a hint", asks(OWNER), [reserved()], DEFAULTS, Reason.HOST_IS_RESERVABLE),
    ("row 9: any project on the freepool", asks(STRANGER), [FREEPOOL], DEFAULTS, Reason.HOST_IS_RESERVABLE),
    (
        "row 9: operator's own names",
        asks(STRANGER),
        [Aggregate("pool", "lease-1")],
        Settings(freepool="other", zone_prefix="lease-"),
        Reason.HOST_IS_RESERVABLE,
    ),
    ("row 10: an ordinary host", asks(STRANGER), [RACK], DEFAULTS, Reason.HOST_IS_ORDINARY),
    ("row 10: a host in no aggregate", asks(STRANGER), [], DEFAULTS, Reason.HOST_IS_ORDINARY),
]

ACCEPTING = {
    Reason.SERVER_IS_EXPECTED,
    Reason.PROJECT_GRANTED,
    Reason.PROJECT_OWNS,
    Reason.RESERVED_FLAVOR,
    Reason.PREEMPTIBLE_ALLOWED,
    Reason.PREEMPTIBLE_LENT,
    Reason.OPEN_MATCH,
    Reason.HOST_IS_ORDINARY,
}


@pytest.mark.parametrize(
    ("request_", "aggregates", "settings", "reason"),
    [row[1:] for row in TABLE],
    ids=[row[0] for row in TABLE],
)
def test_the_table(
    request_: RequestSpec, aggregates: list[Aggregate], settings: Settings, reason: Reason
) -> None:
    verdict = decide(request_, aggregates, settings)
    assert verdict.reason == reason
    assert verdict.accepted == (reason in ACCEPTING)
    assert bool(verdict) == verdict.accepted


def test_every_reason_is_in_the_table() -> None:
    assert {row[-1] for row in TABLE} == set(Reason) - {Reason.ENDS_IN_TIME}, "this one is of backfill"


def test_the_verdict_names_the_pool_that_decided() -> None:
    assert decide(asks(OWNER, "r1"), [FREEPOOL, reserved()], DEFAULTS).pool == "r1"
    assert decide(asks(OWNER), [RACK, FREEPOOL], DEFAULTS).pool == "freepool"


AGGREGATES = st.builds(
    Aggregate,
    st.sampled_from(("r1", "r2", "freepool", "rack")),
    st.sampled_from((None, "blazar_r1", "nova")),
    st.fixed_dictionaries(
        {},
        optional={
            "blazar:owner": st.sampled_from((OWNER, STRANGER)),
            "blazar:match": st.sampled_from(("open", "explicit", frozenset({"open"}))),
            FRIEND: st.sampled_from(("1", "")),
            "reservation": st.just("r3"),
        },
    ),
)
REQUESTS = st.builds(
    asks,
    st.sampled_from((OWNER, STRANGER, FRIEND)),
    st.sampled_from(("", "r1")),
).map(lambda request: replace(request, reservation_ids=hinted_ids(list(request.reservation_ids))))


@given(REQUESTS, st.lists(AGGREGATES, max_size=3), st.sampled_from((DEFAULTS, PREEMPTIBLES)))
def test_open_reservations_add_their_own_projects_and_nothing_else(
    request_: RequestSpec, aggregates: list[Aggregate], settings: Settings
) -> None:
    """As long as no reservation is open, the key of the metadata changes no decision. Where it does, the host
    is in pools of projects that let this one in, each of which is open, and a hint would be accepted, too."""
    closed = [
        replace(each, metadata={k: v for k, v in each.metadata.items() if k != MATCH_KEY})
        for each in aggregates
    ]
    verdict, before = decide(request_, aggregates, settings), decide(request_, closed, settings)
    assert preference(request_, aggregates, settings) == (verdict.reason is Reason.OPEN_MATCH)
    if verdict.reason is not Reason.OPEN_MATCH:
        assert verdict == before
        return
    assert not before
    assert not request_.reservation_ids
    pools = list(pools_of(aggregates, settings))
    assert all("open" in pool.metadata[MATCH_KEY] for pool in pools)
    assert not any(pool.name == settings.freepool for pool in pools)
    for pool in pools:
        assert decide(replace(request_, reservation_ids=frozenset({pool.name})), [pool], settings)


PREEMPTIBLE_REQUESTS = st.builds(
    lambda request, word: replace(request, extra_specs={"blazar:preemptible": word}),
    REQUESTS,
    st.sampled_from(("true", "no")),
)


@given(
    REQUESTS | PREEMPTIBLE_REQUESTS,
    st.lists(AGGREGATES, max_size=3),
    st.dictionaries(st.sampled_from(("r1", "r2", "freepool", "rack")), st.just("1")),
)
def test_lent_hosts_take_preemptible_servers_besides_and_nothing_else(
    request_: RequestSpec, aggregates: list[Aggregate], lenders: dict[str, str]
) -> None:
    """What is among the lent hosts changes one decision: a preemptible server's about a host whose only pool
    is a reservation that lends. Such a host weighs less."""
    with_lent = [*aggregates, Aggregate("lent", metadata=lenders)]
    verdict = decide(request_, with_lent, PREEMPTIBLES)
    before = decide(request_, aggregates, PREEMPTIBLES)
    if verdict.reason is not Reason.PREEMPTIBLE_LENT:
        assert verdict == before
        return
    assert before.reason is Reason.PREEMPTIBLE_ELSEWHERE
    assert [pool.name in lenders for pool in pools_of(with_lent, PREEMPTIBLES)] == [True]
    assert preference(request_, with_lent, PREEMPTIBLES) == -0.5


@pytest.mark.parametrize(
    ("hint", "ids"),
    [
        (None, set()),
        ("", set()),
        ([], set()),
        ([""], set()),
        ("r1", {"r1"}),
        (["r1"], {"r1"}),
        (["r1", "", "r2"], {"r1", "r2"}),
    ],
)
def test_hint_is_one_text_or_many(hint: str | list[str] | None, ids: set[str]) -> None:
    assert hinted_ids(hint) == ids
