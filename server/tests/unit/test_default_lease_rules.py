"""Are the rules of default leases read as they are meant, and are mistakes told to the operator?"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from blazar import conf as options
from blazar.kinds.server.rules import LeaseRule, LeaseTerms, parse_rules, parse_start
from blazar.kinds.server.schema import Step
from blazar.plugins import load_plugins
from blazar.service.ports import ChangedServer

OPTIONS = {
    "reservation_length_days": 30,
    "reservation_length_hours": 0,
    "reservation_length_minutes": 0,
    "warn_hours": 48,
    "on_end": ["shelve"],
}
LAST = LeaseRule(LeaseTerms(timedelta(days=30), timedelta(days=2), (Step.SHELVE,)))
SERVER = ChangedServer("s", "web", "ACTIVE", "p1", "u", "m1.small", "i1")


def parsed(*rules: str, **changes: Any) -> Any:
    return parse_rules({**OPTIONS, "rule": list(rules), **changes})


def test_without_rules_all_have_the_options() -> None:
    assert parsed() == [LAST]
    (rule,) = parsed(
        reservation_length_days=1, reservation_length_hours=2, reservation_length_minutes=3, warn_hours=1
    )
    assert rule.terms.length == timedelta(days=1, hours=2, minutes=3)


def test_a_rule_has_what_it_says_and_else_the_options() -> None:
    first, second, third, last = parsed(
        "project=p1, p2; flavor=m1.huge; days=7; warn_hours=24; on_end=delete,stop",
        " image = i1 ; hours = 72 ;",
        "project=p3; exempt",
    )
    (imaged, _) = parsed("on_end=delete,create_image")
    assert imaged.terms.on_end == (Step.CREATE_IMAGE, Step.DELETE)
    week = LeaseTerms(timedelta(days=7), timedelta(days=1), (Step.STOP, Step.DELETE))
    assert first == LeaseRule(week, frozenset({"p1", "p2"}), frozenset({"m1.huge"}))
    assert second == LeaseRule(
        LeaseTerms(timedelta(hours=72), timedelta(days=2), (Step.SHELVE,)), images=frozenset({"i1"})
    )
    assert third == LeaseRule(None, frozenset({"p3"}))
    assert last == LAST


@pytest.mark.parametrize(
    ("text", "applies"),
    [
        ("days=7", True),
        ("project=p1; days=7", True),
        ("project=p2; days=7", False),
        ("flavor=m1.small; image=i1; days=7", True),
        ("flavor=m1.small; image=i2; days=7", False),
        ("flavor=m1.smal; days=7", False),
    ],
)
def test_all_conditions_must_be_met(text: str, applies: bool) -> None:
    assert parsed(text)[0].applies_to(SERVER) is applies


def test_a_server_without_an_image_meets_no_condition_on_images() -> None:
    from_volume = ChangedServer("s", "web", "ACTIVE", "p1", "u", "m1.small")
    assert not parsed("image=i1; days=7")[0].applies_to(from_volume)
    assert parsed("days=7")[0].applies_to(from_volume)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dayz=7", "'dayz' is not known: take any of project, flavor, image, days"),
        ("days", "days must stand there once, with a value"),
        ("days=", "days must stand there once, with a value"),
        ("days=7; days=8", "days must stand there once, with a value"),
        ("days=-7", "days must be a number, and is '-7'"),
        ("days=1.5", "days must be a number, and is '1.5'"),
        ("days=\u0661", "days must be a number"),
        ("days=99999999", "days must be a number"),
        ("days=0", "warn_hours must be more than 0, and less than the lease lasts"),
        ("days=2", "warn_hours must be more than 0, and less than the lease lasts"),
        ("warn_hours=0", "warn_hours must be more than 0, and less than the lease lasts"),
        ("exempt=1", "exempt must stand there once, alone"),
        ("exempt=", "exempt must stand there once, alone"),
        ("exempt; days=7", "exempt goes with project, flavor, image only"),
        ("on_end=stop", "needs shelve or delete"),
        ("on_end=burn", "must be a list of create_image"),
        ("on_end=create_image", "needs shelve or delete"),
    ],
)
def test_mistakes_are_told_with_the_rule(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r"\[default_leases\]") as refusal:
        parsed(text)
    assert told in str(refusal.value)
    assert f"rule {text!r}" in str(refusal.value)


def test_mistakes_in_the_options_are_told() -> None:
    with pytest.raises(ValueError, match=r"^\[default_leases\] warn_hours must be more than 0, and less"):
        parsed(reservation_length_days=1)


def test_the_date_from_which_on_they_start() -> None:
    assert parse_start("now") is None
    assert parse_start("2030-01-31 09:30") == datetime(2030, 1, 31, 9, 30, tzinfo=UTC)
    with pytest.raises(ValueError, match="reservation_start_date must be now or YYYY-MM-DD HH:MM"):
        parse_start("tomorrow")


def test_they_are_read_from_a_file(tmp_path: Path) -> None:
    def finders(text: str) -> Any:
        (tmp_path / "blazar.conf").write_text(f"[manager]\nplugins = instance.server.plugin\n{text}")
        (kind,) = load_plugins(options.load(files=[str(tmp_path / "blazar.conf")])).kinds.values()
        return kind.lease_finders()

    assert finders("") == []
    section = "[default_leases]\nenabled = true\nrule = project=p1; exempt\nrule = days=7\n"
    (finder,) = finders(section)
    assert (finder.name, finder.interval, finder.begins) == ("default_leases", timedelta(seconds=20), None)
    (hints, others) = finders(f"[lease_hints]\nenabled = true\n{section}include_existing = true\n")
    assert (hints.name, others.name) == ("hints", "default_leases_of_all")
    assert others.begins is not None
    with pytest.raises(ValueError, match="'day' is not known"):
        finders(f"{section}rule = day=7\n")
