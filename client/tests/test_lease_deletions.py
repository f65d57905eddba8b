"""Leases that are deleted by what they have in common."""

from __future__ import annotations

import pytest
from clientkit.recorder import RecordedRequest, RecordingCloud
from clientkit.runner import Blazar

ONE, TWO = ({"id": f"id-{name}", "name": name, "outcome": "deleted"} for name in ("a", "b"))
FOUND = {"leases": [{**ONE, "outcome": "found"}, {**TWO, "outcome": "found"}], "marker": None}
REFUSED = {"id": "id-c", "name": "c", "outcome": "refused", "error_message": "a newer version is at it"}


def query(sent: RecordedRequest) -> dict[str, str]:
    assert (sent.method, sent.path) == ("DELETE", "/leases")
    assert sent.headers["openstack-api-version"] == "reservation 1.18"
    return dict(sent.query)


def test_all_that_meet_the_options_are_deleted(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("DELETE", "/leases", 200, {"leases": [ONE, {**TWO, "outcome": "deleting"}], "marker": None})
    ran = blazar(
        "lease-delete --status pending --status error --name x --priority low --starts-after 2050-01-01 --yes"
    )
    assert (ran.code, ran.out, ran.err) == (0, "Deleted lease: a\nDeleting lease: b\n", "")
    (sent,) = ran.requests
    assert query(sent) == {
        "status": "PENDING,ERROR",
        "name": "x",
        "priority": "low",
        "starts_after": "2050-01-01 00:00",
    }


def test_the_service_is_asked_until_there_are_no_further_ones(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer_in_turn(
        "DELETE",
        "/leases",
        (200, {"leases": [ONE], "marker": "p_1"}),
        (200, {"leases": [TWO], "marker": None}),
    )
    ran = blazar("lease-delete --project p1 --yes")
    assert ran.out == "Deleted lease: a\nDeleted lease: b\n"
    assert [query(sent).get("marker") for sent in ran.requests] == [None, "p_1"]


def test_a_dry_run_tells_which_these_are(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("DELETE", "/leases", 200, FOUND)
    ran = blazar("lease-delete --status pending --dry-run")
    assert ran.code == 0
    assert ran.out == "id-a  a\nid-b  b\n"
    assert ran.err == "2 leases meet the options.\n"
    (sent,) = ran.requests
    assert query(sent)["dry_run"] == "true"


@pytest.mark.parametrize(
    ("typed", "is_deleted"), [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False)]
)
def test_at_a_terminal_it_is_asked_first(
    blazar: Blazar, cloud: RecordingCloud, typed: str, is_deleted: bool
) -> None:
    cloud.answer_in_turn("DELETE", "/leases", (200, FOUND), (200, {"leases": [ONE, TWO], "marker": None}))
    ran = blazar("lease-delete --status pending", typed=typed)
    assert ran.code == 0
    assert "Delete these 2 leases, with the servers in them? [y/N] " in ran.err
    assert ("Deleted lease: a\n" in ran.out) is is_deleted
    assert ["dry_run" in query(sent) for sent in ran.requests] == [True, False][: 1 + is_deleted]


def test_a_script_has_to_say_yes(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("DELETE", "/leases", 200, FOUND)
    ran = blazar("lease-delete --status pending")
    assert ran.code == 2
    assert ran.err.endswith("Nothing was deleted: add --yes to delete these leases.\n")
    assert len(ran.requests) == 1


def test_what_is_refused_is_told(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("DELETE", "/leases", 200, {"leases": [ONE, REFUSED], "marker": None})
    ran = blazar("lease-delete --status pending --yes")
    assert ran.code == 1
    assert ran.out == "Deleted lease: a\n"
    assert "c: a newer version is at it" in ran.err
    assert "1 of 2 could not be deleted" in ran.err


def test_nothing_that_meets_the_options(blazar: Blazar, cloud: RecordingCloud) -> None:
    cloud.answer("DELETE", "/leases", 200, {"leases": [], "marker": None})
    ran = blazar("lease-delete --status pending")
    assert (ran.code, ran.out, ran.err) == (0, "", "No leases meet the options.\n")


@pytest.mark.parametrize("line", ["lease-delete", "lease-delete a --status pending"])
def test_either_leases_or_options(blazar: Blazar, line: str) -> None:
    ran = blazar(line)
    assert (ran.code, list(ran.requests)) == (2, [])
    assert "Give either leases or options such as --status" in ran.err
