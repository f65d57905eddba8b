"""Strategies for bodies of requests: good ones, those with one or two mistakes, and harmful ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def one_of_these(values: Sequence[T]) -> st.SearchStrategy[T]:
    """Return one of the values, which may be huge: Hypothesis prints the numbers of values only."""
    return st.integers(0, len(values) - 1).map(values.__getitem__)


ODD_TEXTS = (
    "", " ", "\u00a0", "\u202egnol", "\x00", "\x1b[2J", "\ud800", "\U0001f389", "e\u0301", "\u0661\u0662",
    "\ufeff",
    "x" * 81, "x" * 300, "x" * 70_000, "'; DROP TABLE leases; --", "%s%n%(name)s", "{0}{lease_id}{__class__}",
    "../../../etc/passwd", "a\r\nX-Forged: yes", "<script>", "null", "-1", "1e999", "NaN", "${jndi:ldap://x}",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 2**31, 2**53, 2**63, 2**64, 10**12, 10**400, 1.5, -0.0, 1e308, 1e-320)
odd_texts = one_of_these(ODD_TEXTS) | st.text(max_size=12)
scalars = st.none() | st.booleans() | one_of_these(NUMBERS) | odd_texts
hostile = scalars | st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_texts, inner, max_size=3),
    max_leaves=6,
) | one_of_these(
    (json.loads("[" * 70 + "]" * 70), [0] * 500, {str(n): n for n in range(200)}, [[], {}] * 20)
)  # fmt: skip
names = st.text(st.characters(max_codepoint=0x17F, exclude_categories=["Cc"]), min_size=1, max_size=20)

PROPERTIES = ("$gpu", "$rack", "$vcpus", "$memory_mb", "$hypervisor_hostname", "$unheard_of")
comparisons = st.tuples(
    st.sampled_from(("==", "=", "!=", "<", "<=", ">", ">=")),
    st.sampled_from(PROPERTIES),
    st.sampled_from(("1", "2", "r1", "0", "compute-01", "16", "-1e3")),
).map(list)
expressions = st.recursive(
    comparisons,
    lambda inner: (
        st.tuples(st.just("not"), inner).map(list)
        | st.tuples(st.sampled_from(("and", "or")), inner, inner).map(list)
        | st.tuples(st.sampled_from(("and", "or", "in", "~", "==")), inner).map(list)
    ),
    max_leaves=8,
)
DEEP = tuple('["not",' * n + '["==", "$gpu", "1"]' + "]" * n for n in (10, 31, 60, 4000))
WIDE = tuple(
    json.dumps([how, *[["==", "$gpu", "1"]] * n]) for how, n in (("and", 100), ("or", 200), ("or", 3000))
)
requirements = st.one_of(
    st.just(""),
    st.just(""),
    st.just('["==", "$gpu", "1"]'),
    expressions.map(json.dumps),
    one_of_these((*DEEP, *WIDE, '["in", "$rack", "r1", "r2"]', '["==", "$owner", "acme"]', "[", "{}", '"x"')),
    odd_texts,
)

few = st.sampled_from((1, 1, 1, 2, "1", 3))
affinities = st.sampled_from((None, None, True, False, "False", "none", "maybe"))


def _hosts(least: int, more: int, hypervisor: str, properties: str, before_end: str) -> dict[str, Any]:
    return {
        "resource_type": "physical:host",
        "min": least,
        "max": least + more,
        "hypervisor_properties": hypervisor,
        "resource_properties": properties,
        "before_end": before_end,
    }


def reservations(flavor_id: str, network_id: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return reservations of every kind, most of which are good."""
    return st.one_of(
        st.builds(
            _hosts,
            st.sampled_from((1, 1, 2, 4)),
            st.sampled_from((0, 0, 1, 10)),
            st.just("") | requirements,
            requirements,
            st.sampled_from(("default", "snapshot", "email")),
        ),
        st.fixed_dictionaries(
            {
                "resource_type": st.just("virtual:instance"),
                "vcpus": few,
                "memory_mb": st.sampled_from((1, 512, 65536)),
                "disk_gb": st.sampled_from((0, 1, 10)),
                "amount": st.sampled_from((1, 2, 8, 1000)),
                "affinity": affinities,
                "resource_properties": requirements,
            }
        ),
        st.fixed_dictionaries(
            {
                "resource_type": st.just("flavor:instance"),
                "flavor_id": st.sampled_from(
                    (flavor_id, flavor_id, "detail", "../servers", "?x=1", "%2e%2e", "0")
                ),
                "amount": few,
                "affinity": affinities,
            }
        ),
        st.fixed_dictionaries(
            {
                "resource_type": st.just("virtual:floatingip"),
                "network_id": st.sampled_from((network_id, network_id, "nope", "../networks")),
                "amount": few,
                "required_floatingips": st.lists(
                    st.sampled_from(("203.0.113.150", "203.0.113.151", "::1", "1.2.3.4/8", "x")), max_size=2
                ),
            }
        ),
    )


def good_leases(now: datetime, flavor_id: str, network_id: str, name: str) -> st.SearchStrategy[Any]:
    """Return leases that are refused only where resources are short."""
    hosts = st.builds(
        _hosts, st.integers(1, 2), st.integers(0, 1), st.just(""), st.just(""), st.just("default")
    )
    instances = st.fixed_dictionaries(
        {
            "resource_type": st.just("virtual:instance"),
            "vcpus": st.integers(1, 8),
            "memory_mb": st.just(512),
            "disk_gb": st.just(1),
            "amount": st.integers(1, 8),
            "affinity": st.sampled_from((None, True, False)),
            "resource_properties": st.just(""),
        }
    )
    others = st.sampled_from(
        (
            {"resource_type": "flavor:instance", "flavor_id": flavor_id, "amount": 2, "affinity": None},
            {"resource_type": "virtual:floatingip", "network_id": network_id, "amount": 1},
        )
    )
    return st.builds(
        lambda first, minutes, reserved, more: {
            "name": f"{name} {more}",
            "start_date": "now" if not first else f"{now + timedelta(minutes=first):%Y-%m-%d %H:%M}",
            "end_date": f"{now + timedelta(minutes=first + minutes):%Y-%m-%d %H:%M}",
            "reservations": reserved,
        },
        st.sampled_from((0, 0, 5, 60, 600)),
        st.sampled_from((10, 60, 600)),
        st.lists(hosts | instances | others, min_size=1, max_size=2),
        names,
    )


def good_changes(now: datetime, parts: list[str]) -> st.SearchStrategy[Any]:
    """Return changes of length and size."""
    ends = st.sampled_from((2, 60, 120, 1200)).map(lambda n: f"{now + timedelta(minutes=n):%Y-%m-%d %H:%M}")
    sizes = st.sampled_from(
        ({"min": 1, "max": 1}, {"min": 2, "max": 3}, {"amount": 1}, {"amount": 3}, {"vcpus": 2})
    )
    each = st.builds(lambda part, size: [{"id": part, **size}], st.sampled_from(parts or ["nope"]), sizes)
    longer = st.fixed_dictionaries({"end_date": ends | st.just("now")})
    return longer | each.map(lambda changed: {"reservations": changed})


def dates(now: datetime) -> st.SearchStrategy[Any]:
    """Return dates around ``now``, in the forms that are allowed, and texts that are nearly dates."""
    minutes = st.integers(-3, 3) | st.sampled_from((10, 60, 61, 120, 600, 1440, 10**5, 10**7, 6 * 10**7))
    forms = st.sampled_from(
        ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M+01:00")
    )
    near = st.builds(lambda after, form: (now + timedelta(minutes=after)).strftime(form), minutes, forms)
    bad = one_of_these(
        (
            "now", "", "tomorrow", "0001-01-01 00:00", "9999-12-31 23:59", "2050-02-30 10:00",
            "2050-01-01 24:00",
            "\uff12\uff10\uff15\uff10-01-01 10:00", "2050-01-01T10:00:00+99:99", "0001-01-01T00:00+14:00",
            "9999-12-31T23:59-14:00", "2050-01-01 10:00:60", "2050-1-1 1:1", "x" * 5000, 0, None, [], {},
        )
    )  # fmt: skip
    return st.one_of(near, near, near, bad)


@st.composite
def spoilt(draw: st.DrawFn, bodies: st.SearchStrategy[dict[str, Any]], ids: list[str]) -> dict[str, Any]:
    """Return a body as it is, or with one or two values replaced, taken away or added."""
    body = dict(draw(bodies))
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 1, 2)))):
        key = draw(st.sampled_from((*sorted(body), "id", "status", "project_id", "trust_id", "events", "")))
        replacements = hostile | st.sampled_from(ids) if ids else hostile
        if draw(st.booleans()):
            body[key] = draw(replacements)
        else:
            body.pop(key, None)
    return body


def leases(now: datetime, each: st.SearchStrategy[Any], name: str, ids: list[str]) -> st.SearchStrategy[Any]:
    """Return bodies of leases that begin and end around ``now``, some minutes or years long."""
    starts = st.just("now") | dates(now)
    body = st.fixed_dictionaries(
        {
            "name": names.map(lambda more: f"{name} {more}"),
            "start_date": starts,
            "end_date": dates(now + timedelta(hours=1)),
            "reservations": st.lists(spoilt(each, ids), max_size=3),
        },
        optional={"before_end_date": dates(now + timedelta(minutes=30)), "events": hostile},
    )
    return spoilt(body, ids)


def changes(now: datetime, parts: list[str], name: str, ids: list[str]) -> st.SearchStrategy[Any]:
    """Return bodies that change a lease with these reservations."""
    reservation = st.fixed_dictionaries(
        {"id": st.sampled_from((*parts, *ids, "nope"))},
        optional={
            "min": few,
            "max": st.sampled_from((1, 2, 4, 100)),
            "amount": few,
            "vcpus": few,
            "affinity": affinities,
            "resource_properties": requirements,
            "hypervisor_properties": requirements,
            "required_floatingips": st.just([]),
            "resource_type": st.sampled_from(("physical:host", "virtual:instance")),
        },
    )
    body = st.fixed_dictionaries(
        {},
        optional={
            "name": names.map(lambda more: f"{name} {more}"),
            "start_date": dates(now),
            "end_date": dates(now + timedelta(hours=1)),
            "before_end_date": dates(now + timedelta(minutes=30)),
            "reservations": st.lists(spoilt(reservation, ids), max_size=2),
        },
    )
    return spoilt(body, ids)


def exchanges(
    parts: list[str], each: st.SearchStrategy[dict[str, Any]], ids: list[str]
) -> st.SearchStrategy[Any]:
    """Return bodies that add some of the reservations to a lease with ``parts``, and remove some of it."""
    removed = st.fixed_dictionaries(
        {"id": st.sampled_from((*parts, *ids, "nope")), "remove": st.booleans() | st.just(True)}
    )
    entry = spoilt(removed, ids) | removed | spoilt(each, ids) | each
    return st.fixed_dictionaries({"reservations": st.lists(entry, max_size=3)})


capabilities = st.dictionaries(
    st.sampled_from(("gpu", "rack", "owner", "vcpus", "id", "a/b", " x")) | odd_texts,
    st.sampled_from(("1", "2", "r1", 3, True, None)) | hostile,
    max_size=3,
)
"""Resource properties of a host."""
OPERATIONS = (
    "register a host",
    "describe a host",
    "give back a host",
    "hide a property",
    "register an address",
    "give back an address",
)
host_names = st.sampled_from(("compute-01", "compute-04", "compute-05", "1", "")) | hostile
flags = st.booleans() | hostile
addresses = st.sampled_from(("203.0.113.150", "203.0.113.152", "203.0.113.20", "8.8.8.8", "::1")) | hostile
raw_bodies = st.one_of(
    st.binary(max_size=30),
    hostile.map(lambda value: json.dumps(value).encode()),
    one_of_these(
        (
            b"[" * 100_000, b"{" * 3000, b'{"a":' * 2000, b'{"name": "a", "name": "b"}', b'{"name": NaN}',
            b'{"name": "\xff"}', b'{"min": ' + b"9" * 5000 + b"}", b"\xef\xbb\xbf{}", b"[1,2]", b'"x"',
            b"\x00", b'{"reservations": [' + b"[]," * 30_000 + b"[]]}", b" " * 1_100_000,
        )
    ),
)  # fmt: skip
"""Bodies that need not be JSON."""
odd_ids = st.sampled_from(
    ("nope", "%00", "..", "%2e%2e%2fleases", "%ff", "a" * 300, "1' OR '1'='1", "detail", "allocations", "0",
     "-1", "\u0661", "%u0000", "1%0d%0aX:y", "*", "null", "{lease_id}")
)  # fmt: skip
