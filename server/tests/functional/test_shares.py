"""Leases that are shared with other projects, over HTTP, with everything real but the hardware, since version
1.34."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from blazar.domain.errors import CloudUnavailable
from blazar.domain.lease.share import MOST_SHARES
from blazar.rpc.codec import not_understood

from .canned import LEASE_ID, Canned
from .conftest import Send
from .sandboxed import Sandboxed, until
from .wishes import HOST, INSTANCES

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
VERSION = {"OpenStack-API-Version": "reservation 1.34"}
BEFORE = {"OpenStack-API-Version": "reservation 1.33"}
USE = {"OpenStack-API-Version": "reservation 1.36"}
TAKE_OVER = {"OpenStack-API-Version": "reservation 1.38"}
LEASE = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00", "reservations": [HOST]}
DAILY = {"rule": "FREQ=DAILY;COUNT=2", "time_zone": "UTC"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxed]:
    at = Sandboxed(tmp_path_factory.mktemp("shares"))
    for name in ("compute-01", "compute-02"):
        assert at.send("POST", "/v1/os-hosts", "admin", json={"name": name}).status_code == 201
    at.add_user("lurker", "alt", "reader")
    yield at
    at.stop()


@pytest.fixture
def at(site: Sandboxed) -> Iterator[Sandboxed]:
    yield site
    for lease in site.send("GET", "/v1/leases", "admin").json["leases"]:
        assert site.send("DELETE", f"/v1/leases/{lease['id']}", "admin").status_code == 204


def ask(at: Sandboxed, method: str, path: str, user: str = "demo", json: Any = None, **headers: str) -> Any:
    return at.send(method, path, user, json=json, headers={**VERSION, **headers})


def make(at: Sandboxed, name: str = "lab", user: str = "demo", **more: Any) -> Any:
    made = ask(at, "POST", "/v1/leases", user, json={"name": name, **LEASE, **more})
    assert made.status_code == 201, made.text
    return made.json["lease"]


def project_of(at: Sandboxed, user: str) -> str:
    """Return the id of a user's project, as a lease of the user tells it."""
    lease = make(at, user=user)
    assert ask(at, "DELETE", f"/v1/leases/{lease['id']}", user).status_code == 204
    return str(lease["project_id"])


@pytest.fixture(scope="module")
def alt(site: Sandboxed) -> str:
    return project_of(site, "alt")


def share(at: Sandboxed, lease: Mapping[str, Any], project_id: str, right: str = "read") -> Any:
    path = f"/v1/leases/{lease['id']}/shares/{project_id}"
    answer = ask(at, "PUT", path, json={"right": right})
    assert answer.status_code == 200, answer.text
    return answer.json["share"]


def shares(at: Sandboxed, lease: Mapping[str, Any]) -> Any:
    return ask(at, "GET", f"/v1/leases/{lease['id']}/shares").json["shares"]


def listed(at: Sandboxed, user: str = "alt", query: str = "") -> list[Any]:
    answer = ask(at, "GET", f"/v1/leases?shared=true{query}", user)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json["leases"]
    return found


def refusal(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(answer.json["error_message"])


def test_it_is_seen_as_a_lease_of_ones_own(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    hidden = refusal(ask(at, "GET", path, "alt"), 404)
    made = share(at, lease, alt)
    assert made == {
        "lease_id": lease["id"],
        "project_id": alt,
        "right": "read",
        "user_id": lease["user_id"],
        "created_at": made["created_at"],
        "updated_at": None,
    }
    assert shares(at, lease) == [made]
    for user in ("alt", "lurker"):
        assert ask(at, "GET", path, user).json["lease"] == {**lease, "shared_right": "read"}
    assert ask(at, "GET", path).json["lease"] == lease
    assert ask(at, "DELETE", f"{path}/shares/{alt}").status_code == 204
    assert shares(at, lease) == []
    assert refusal(ask(at, "GET", path, "alt"), 404) == hidden


def test_lists_show_it_where_it_is_asked_for(at: Sandboxed, alt: str) -> None:
    own = make(at, "own", "alt", start_date="2050-02-01 10:00", end_date="2050-02-01 11:00")
    first, _, third = (
        make(at, name, start_date=f"2050-0{month}-01 10:00", end_date=f"2050-0{month}-01 11:00")
        for month, name in ((5, "first"), (4, "second"), (3, "third"))
    )
    share(at, third, alt, "change")
    share(at, first, alt)
    assert [(each["name"], each["shared_right"]) for each in listed(at)] == [
        ("first", "read"),
        ("third", "change"),
    ]
    assert [each["name"] for each in listed(at, "lurker", "&sort=created_at:desc")] == ["third", "first"]
    assert [each["name"] for each in listed(at, query="&name=third")] == ["third"]
    assert listed(at, query="&status=ACTIVE") == listed(at, "demo") == []
    assert [each["name"] for each in listed(at, query=f"&project_id={first['project_id']}")] == [
        "first",
        "third",
    ]
    assert listed(at, query="&fields=name,shared_right") == [
        {"name": "first", "shared_right": "read"},
        {"name": "third", "shared_right": "change"},
    ]
    for query in ("", "?shared=false"):
        assert [each["id"] for each in ask(at, "GET", f"/v1/leases{query}", "alt").json["leases"]] == [
            own["id"]
        ]
    assert "shared_right" not in ask(at, "GET", "/v1/leases", "alt").json["leases"][0]


def test_it_is_listed_page_by_page(at: Sandboxed, alt: str) -> None:
    made = [
        make(at, str(day), start_date=f"2050-01-0{day} 10:00", end_date=f"2050-01-0{day} 11:00")
        for day in (1, 2, 3)
    ]
    for each in made:
        share(at, each, alt)
    page = ask(at, "GET", "/v1/leases?shared=true&limit=2", "alt").json
    assert [each["name"] for each in page["leases"]] == ["1", "2"]
    link = page["leases_links"][0]["href"].partition("/v1/leases")[2]
    rest = ask(at, "GET", f"/v1/leases{link}", "alt").json
    assert [each["name"] for each in rest["leases"]] == ["3"]
    assert "leases_links" not in rest
    assert [each["name"] for each in listed(at, query=f"&marker={made[1]['id']}")] == ["3"]
    assert "marker" in refusal(ask(at, "GET", f"/v1/leases?shared=true&marker={made[1]['id']}", "demo"), 400)


def test_its_name_and_dates_may_be_changed_with_the_right_to(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    share(at, lease, alt)
    assert "read only" in refusal(ask(at, "PUT", path, "alt", json={"name": "x"}), 403)
    changed = share(at, lease, alt, "change")
    assert changed["right"] == "change"
    assert changed["updated_at"]
    for user, name in (("alt", "renamed"), ("demo", "lab")):
        assert ask(at, "PUT", path, user, json={"name": name}).json["lease"]["name"] == name
    longer = ask(at, "PUT", path, "alt", json={"end_date": "2050-01-01 12:00"})
    assert longer.json["lease"]["shared_right"] == "change"
    shorter = ask(at, "PUT", path, "alt", json={"duration": 30, "dry_run": True})
    assert shorter.json["lease"]["end_date"] == "2050-01-01T10:30:00.000000"
    assert shorter.json["lease"]["shared_right"] == "change"
    now = ask(at, "GET", path).json["lease"]
    assert (now["end_date"], now["user_id"]) == ("2050-01-01T12:00:00.000000", lease["user_id"])
    assert "put_shared" in refusal(ask(at, "PUT", path, "lurker", json={"name": "x"}), 403)
    assert "delete" in refusal(ask(at, "DELETE", path, "alt"), 403)
    assert ask(at, "GET", path).json["lease"] == now


@pytest.mark.parametrize(
    "body",
    [
        {"reservations": []},
        {"name": "x", "priority": "low"},
        {"claim_by": 30},
        {"on_shortage": {"wait_until": "2049-12-31 10:00"}},
    ],
    ids=lambda body: sorted(body)[-1],
)
def test_nothing_else_may_be_changed(at: Sandboxed, alt: str, body: Mapping[str, Any]) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    share(at, lease, alt, "change")
    assert sorted(body)[-1] in refusal(ask(at, "PUT", path, "alt", json=body), 403)
    assert ask(at, "GET", path).json["lease"] == lease


def test_the_quota_of_the_owner_counts_and_its_numbers_are_not_told(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path, longer = f"/v1/leases/{lease['id']}", {"end_date": "2050-01-01 14:00"}
    share(at, lease, alt, "change")
    limits = {"limits": {"hosts_hours": 2}}
    quota = f"/v1/quotas/{lease['project_id']}"
    assert ask(at, "PUT", quota, "admin", json=limits).status_code == 200
    assert "the limit is 2" in refusal(ask(at, "PUT", path, json=longer), 403)
    refused = ask(at, "PUT", path, "alt", json=longer)
    assert refusal(refused, 403) == "The quota of the project that has the lease does not allow this."
    assert "limit" not in refused.json
    assert ask(at, "DELETE", quota, "admin").status_code == 204
    assert ask(at, "PUT", f"/v1/quotas/{alt}", "admin", json=limits).status_code == 200
    assert ask(at, "PUT", path, "alt", json=longer).status_code == 200
    assert ask(at, "DELETE", f"/v1/quotas/{alt}", "admin").status_code == 204


def test_the_project_may_give_it_back_and_not_share_it_further(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}/shares"
    share(at, lease, alt, "change")
    share(at, lease, "third")
    for method, of, body in (
        ("GET", "", None),
        ("PUT", "/third", {"right": "change"}),
        ("PUT", "/fourth", {"right": "read"}),
        ("PUT", f"/{alt}", {"right": "change"}),
        ("DELETE", "/third", None),
    ):
        assert "shares" in refusal(ask(at, method, path + of, "alt", json=body), 403)
    assert "shares" in refusal(ask(at, "DELETE", f"{path}/{alt}", "lurker"), 403)
    assert ask(at, "DELETE", f"{path}/{alt}", "alt").status_code == 204
    assert [each["project_id"] for each in shares(at, lease)] == ["third"]
    assert ask(at, "DELETE", f"{path}/{alt}", "alt").status_code == 404


def test_a_share_may_be_put_again_and_withdrawn_once(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}/shares/{alt}"
    assert share(at, lease, alt) == share(at, lease, alt)
    assert ask(at, "DELETE", path).status_code == 204
    assert alt in refusal(ask(at, "DELETE", path), 404)
    assert ask(at, "GET", f"/v1/leases/{lease['id']}").json["lease"] == lease


@pytest.mark.parametrize("body", [{}, {"right": "use"}, {"right": None}, {"right": ["read"]}], ids=str)
def test_a_right_is_one_of_two_words(at: Sandboxed, alt: str, body: Any) -> None:
    lease = make(at)
    told = refusal(ask(at, "PUT", f"/v1/leases/{lease['id']}/shares/{alt}", json=body), 400)
    assert "right" in told
    assert shares(at, lease) == []


def test_it_is_not_shared_with_its_own_project_and_not_with_very_many(at: Sandboxed) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}/shares"
    assert "own" in refusal(ask(at, "PUT", f"{path}/{lease['project_id']}", json={"right": "read"}), 400)
    for number in range(MOST_SHARES):
        share(at, lease, f"project-{number:03}")
    assert str(MOST_SHARES) in refusal(ask(at, "PUT", f"{path}/more", json={"right": "read"}), 409)
    assert share(at, lease, "project-007", "change")["right"] == "change"
    assert [each["project_id"] for each in shares(at, lease)] == [
        f"project-{number:03}" for number in range(MOST_SHARES)
    ]


def test_it_does_not_tell_of_the_series_of_its_project(at: Sandboxed, alt: str) -> None:
    made = ask(at, "POST", "/v1/series", json={"name": "class", **LEASE, "recurrence": DAILY})
    series = made.json["series"]
    lease = {"id": series["occurrences"][0]["lease_id"]}
    share(at, lease, alt)
    seen = ask(at, "GET", f"/v1/leases/{lease['id']}", "alt").json["lease"]
    assert (seen["series_id"], listed(at)[0]["series_id"]) == (None, None)
    assert ask(at, "GET", f"/v1/leases/{lease['id']}").json["lease"]["series_id"] == series["id"]
    assert ask(at, "DELETE", f"/v1/series/{series['id']}").status_code == 204


@pytest.mark.parametrize("version", ["1.0", "1.33"])
def test_earlier_versions_show_it_and_know_no_shares(at: Sandboxed, alt: str, version: str) -> None:
    """So that programs that know nothing of shares can work with it."""
    lease, before = make(at), {"OpenStack-API-Version": f"reservation {version}"}
    share(at, lease, alt, "change")
    path = f"/v1/leases/{lease['id']}"
    shown = ask(at, "GET", path, **before).json
    assert ask(at, "GET", path, "alt", **before).json == shown
    changed = ask(at, "PUT", path, "alt", json={"name": "x"}, **before)
    assert changed.json["lease"]["name"] == "x"
    assert "shared_right" not in changed.json["lease"]
    assert ask(at, "GET", "/v1/leases", "alt", **before).json == {"leases": []}
    assert ask(at, "GET", f"{path}/shares", **before).status_code == 404


def test_the_list_of_the_version_before_knows_no_shares(at: Sandboxed) -> None:
    assert "shared" in refusal(ask(at, "GET", "/v1/leases?shared=true", "alt", **BEFORE), 400)


@pytest.mark.parametrize("sort", ["start_date", "end_date:desc", "name"])
def test_the_list_of_shared_leases_has_one_order(at: Sandboxed, sort: str) -> None:
    assert "created_at" in refusal(ask(at, "GET", f"/v1/leases?shared=true&sort={sort}", "alt"), 400)


def test_a_manager_of_the_version_before_knows_no_share(service: Canned, send: Send) -> None:
    """What is asked of it is as if there were none; one that does not answer is told as such."""
    service.share = not_understood("the call shares.get_right")
    for method in ("GET", "PUT", "DELETE"):
        assert send(method, f"/v1/leases/{LEASE_ID}", "stranger", body=b"{}").status_code == 404
    service.share = CloudUnavailable(service="database", reason="it is away")
    assert send("GET", f"/v1/leases/{LEASE_ID}", "stranger").status_code == 503
    assert send("GET", f"/v1/leases/{LEASE_ID}", "reader").status_code == 200


def test_older_clients_see_the_rights_that_they_know(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    for right, known in (("use", "read"), ("use_and_change", "change")):
        refused = ask(at, "PUT", f"{path}/shares/{alt}", json={"right": right})
        assert refusal(refused, 400) == "The right is one of read, change."
        put = ask(at, "PUT", f"{path}/shares/{alt}", json={"right": right}, **USE)
        assert (put.status_code, put.json["share"]["right"]) == (200, right)
        for headers, told in ((VERSION, known), (USE, right)):
            found = [
                ask(at, "GET", f"{path}/shares", **headers).json["shares"][0]["right"],
                ask(at, "GET", path, "alt", **headers).json["lease"]["shared_right"],
                ask(at, "GET", "/v1/leases?shared=true", "alt", **headers).json["leases"][0]["shared_right"],
            ]
            assert found == [told] * 3
    refused = ask(at, "PUT", f"{path}/shares/{alt}", json={"right": "own"}, **USE)
    assert refusal(refused, 400) == "The right is one of read, use, change, use_and_change."


def test_who_may_only_use_it_changes_nothing_of_it(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    for right, status in (("use", 403), ("use_and_change", 200)):
        put = ask(at, "PUT", f"{path}/shares/{alt}", json={"right": right}, **USE)
        assert put.status_code == 200, put.text
        assert ask(at, "PUT", path, "alt", json={"name": right}).status_code == status
    assert ask(at, "GET", path).json["lease"]["name"] == "use_and_change"


@pytest.mark.parametrize("asked", [HOST, INSTANCES], ids=["hosts", "instances"])
def test_servers_of_the_other_project_land_on_what_it_may_use(
    at: Sandboxed, alt: str, asked: Mapping[str, Any]
) -> None:
    dates = {"start_date": "now", "end_date": "2049-01-01 10:00"}
    lease = make(at, reservations=[{**asked, **({"amount": 3} if "amount" in asked else {})}], **dates)
    path, reservation_id = f"/v1/leases/{lease['id']}", lease["reservations"][0]["id"]

    def lands(user: str) -> bool:
        if "amount" not in asked:
            server = at.boot(user, "1", reservation=reservation_id)
            return bool(server["status"] == "ACTIVE")
        try:
            return bool(at.boot(user, reservation_id)["status"] == "ACTIVE")
        except requests.HTTPError:
            return False

    assert until(lambda: ask(at, "GET", path).json["lease"]["status"] == "ACTIVE")
    assert lands("demo")
    assert not lands("alt")
    assert ask(at, "PUT", f"{path}/shares/{alt}", json={"right": "use"}, **USE).status_code == 200
    assert until(lambda: lands("alt"))
    assert ask(at, "DELETE", f"{path}/shares/{alt}").status_code == 204
    assert until(lambda: not lands("alt"))
    assert ask(at, "DELETE", path).status_code == 204
    assert until(lambda: ask(at, "GET", path).status_code == 404)


def offer(at: Sandboxed, lease: Mapping[str, Any], project_id: str) -> None:
    path = f"/v1/leases/{lease['id']}/shares/{project_id}"
    assert ask(at, "PUT", path, json={"right": "take_over"}, **TAKE_OVER).status_code == 200


def take_over(at: Sandboxed, lease: Mapping[str, Any], user: str = "alt", **headers: str) -> Any:
    return ask(at, "POST", f"/v1/leases/{lease['id']}/take_over", user, **{**TAKE_OVER, **headers})


def test_a_lease_changes_hands(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    path = f"/v1/leases/{lease['id']}"
    offer(at, lease, alt)
    seen = ask(at, "GET", path, "alt", **TAKE_OVER).json["lease"]
    assert (seen["shared_right"], seen["project_id"]) == ("take_over", lease["project_id"])
    assert ask(at, "GET", path, "alt", **USE).json["lease"]["shared_right"] == "read"
    assert "take_over" in refusal(take_over(at, lease, "lurker"), 403)
    taken = take_over(at, lease)
    assert taken.status_code == 200, taken.text
    assert taken.json["lease"]["project_id"] == alt
    assert taken.json["lease"]["reservations"][0]["id"] == lease["reservations"][0]["id"]
    assert "shared_right" not in taken.json["lease"]
    assert take_over(at, lease).json == taken.json
    assert ask(at, "GET", path, **TAKE_OVER).status_code == 404
    assert [each["id"] for each in ask(at, "GET", "/v1/leases", "alt").json["leases"]] == [lease["id"]]
    assert listed(at) == []
    assert ask(at, "DELETE", path, "alt").status_code == 204


def test_what_is_not_offered_is_not_taken_over(at: Sandboxed, alt: str) -> None:
    lease = make(at)
    assert take_over(at, lease).status_code == 404
    share(at, lease, alt, "change")
    assert "not offered" in refusal(take_over(at, lease), 403)
    offer(at, lease, alt)
    assert take_over(at, lease, **USE).status_code == 404
    assert ask(at, "PUT", f"/v1/quotas/{alt}", "admin", json={"limits": {"hosts": 0}}).status_code == 200
    assert "hosts" in refusal(take_over(at, lease), 403)
    assert ask(at, "DELETE", f"/v1/quotas/{alt}", "admin").status_code == 204
    assert ask(at, "GET", f"/v1/leases/{lease['id']}").json["lease"]["project_id"] == lease["project_id"]
    assert "not offered" in refusal(take_over(at, lease, "admin"), 403)
    begun = f"/v1/leases/{make(at, start_date='now')['id']}"
    assert until(lambda: ask(at, "GET", begun).json["lease"]["status"] == "ACTIVE")
    refused = ask(at, "PUT", f"{begun}/shares/{alt}", json={"right": "take_over"}, **TAKE_OVER)
    assert "before it starts" in refusal(refused, 409)
