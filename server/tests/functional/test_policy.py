"""Who may do what: every persona on every route, and operators' own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from .canned import FLOATING_IP, LEASE_ID, Canned
from .conftest import Send, configured, edge

LEASE_PATH = f"/v1/leases/{LEASE_ID}"
FLOATING_IP_PATH = f"/v1/floatingips/{FLOATING_IP.id}"
NEW_FLOATING_IP = {"floating_network_id": "net1", "floating_ip_address": "172.24.4.103"}
NEW = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00"}

# The lease belongs to project p1 and user u1. Columns: admin, its owner (member), another member of the project, a reader
# of the project, a member of another project, a role that no rule knows, a system-scoped administrator, an unscoped token.
PERSONAS = ("admin", "member", "colleague", "reader", "stranger", "norole", "system", "unscoped")
MATRIX: list[tuple[str, str, Any, tuple[int, ...]]] = [
    ("GET", "/v1/leases", None, (200, 200, 200, 200, 200, 403, 403, 403)),
    ("POST", "/v1/leases", NEW, (201, 201, 201, 403, 201, 403, 403, 403)),
    ("GET", LEASE_PATH, None, (200, 200, 200, 200, 404, 404, 403, 403)),
    ("PUT", LEASE_PATH, {"name": "b"}, (200, 200, 200, 403, 404, 404, 403, 403)),
    ("DELETE", LEASE_PATH, None, (204, 204, 204, 403, 404, 404, 403, 403)),
    ("GET", "/v1/leases/nope", None, (404, 404, 404, 404, 404, 404, 403, 403)),
    ("GET", "/v1/os-hosts", None, (200, *[403] * 7)),
    ("POST", "/v1/os-hosts", {"name": "c"}, (201, *[403] * 7)),
    ("GET", "/v1/os-hosts/1", None, (200, *[403] * 7)),
    ("GET", "/v1/os-hosts/nope", None, (404, *[403] * 7)),
    ("PUT", "/v1/os-hosts/1", {"gpu": 1}, (200, *[403] * 7)),
    ("DELETE", "/v1/os-hosts/1", None, (204, *[403] * 7)),
    ("GET", "/v1/os-hosts/allocations", None, (200, *[403] * 7)),
    ("GET", "/v1/os-hosts/1/allocation", None, (200, *[403] * 7)),
    ("GET", "/v1/os-hosts/properties", None, (200, *[403] * 7)),
    ("PATCH", "/v1/os-hosts/properties/gpu", {"private": True}, (200, *[403] * 7)),
    ("GET", "/v1/floatingips", None, (200, 200, 200, 200, 200, 403, 403, 403)),
    ("POST", "/v1/floatingips", NEW_FLOATING_IP, (201, *[403] * 7)),
    ("GET", FLOATING_IP_PATH, None, (200, 200, 200, 200, 200, 403, 403, 403)),
    ("GET", "/v1/floatingips/nope", None, (404, 404, 404, 404, 404, 403, 403, 403)),
    ("DELETE", FLOATING_IP_PATH, None, (204, *[403] * 7)),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "persona", "status"),
    [
        pytest.param(method, path, body, persona, status, id=f"{persona} {method} {path}")
        for method, path, body, statuses in MATRIX
        for persona, status in zip(PERSONAS, statuses, strict=True)
    ],
)
def test_matrix(send: Send, service: Canned, method: str, path: str, body: Any, persona: str, status: int) -> None:
    answer = send(method, path, persona, json=body) if body else send(method, path, persona)
    assert answer.status_code == status
    if status >= 400:
        assert not service.commands
        assert set(answer.json) == {"error_code", "error_message", "error_name"}


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _, _ in MATRIX])
@pytest.mark.parametrize("persona", [None, "nobody"])
def test_nothing_without_a_token(send: Send, service: Canned, method: str, path: str, persona: str | None) -> None:
    answer = send(method, path, persona, body=b"{}")
    assert answer.status_code == 401
    assert answer.json == {
        "error": 401,
        "error_message": "The request you have made requires authentication.",
    }
    assert not service.callers


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_anothers_lease_is_told_apart_from_an_absent_one_by_nobody(send: Send, method: str) -> None:
    absent_id = LEASE_ID.replace("0", "1")
    there, absent = (send(method, f"/v1/leases/{each}", "stranger", body=b"{}") for each in (LEASE_ID, absent_id))
    assert there.status_code == absent.status_code == 404
    assert there.text.replace(LEASE_ID, "X") == absent.text.replace(absent_id, "X")


@pytest.mark.parametrize(
    ("method", "path", "rule"),
    [
        ("PUT", LEASE_PATH, "blazar:leases:put"),
        ("DELETE", LEASE_PATH, "blazar:leases:delete"),
        ("POST", "/v1/leases", "blazar:leases:post"),
        ("GET", "/v1/os-hosts/allocations", "blazar:oshosts:get_allocations"),
        ("POST", "/v1/floatingips", "blazar:floatingips:post"),
        ("DELETE", FLOATING_IP_PATH, "blazar:floatingips:delete"),
    ],
)
def test_a_refusal_names_the_rule(send: Send, method: str, path: str, rule: str) -> None:
    answer = send(method, path, "reader", body=b"{}")
    assert answer.json == {
        "error_code": 403,
        "error_message": f"Policy doesn't allow {rule} to be performed",
        "error_name": 403,
    }


def test_a_stranger_sees_none_of_our_leases(send: Send) -> None:
    assert send("GET", "/v1/leases", "stranger").json == {"leases": []}
    assert len(send("GET", "/v1/leases", "admin").json["leases"]) == 1


def test_private_properties_are_shown_to_administrators_only(
    service: Canned, conf: cfg.ConfigOpts, tmp_path: Path
) -> None:
    send = with_rules(service, tmp_path, '"blazar:oshosts:get_resource_properties": ""')
    assert send("GET", "/v1/os-hosts/properties", "member", query_string="all=True").status_code == 200
    assert service.commands == [False]


def with_rules(service: Canned, tmp_path: Path, rules: str) -> Send:
    """The edge with an operator's own policy file."""
    (tmp_path / "policy.yaml").write_text(rules)
    return edge(service, configured(tmp_path, f"[oslo_policy]\npolicy_file = {tmp_path / 'policy.yaml'}\n"))


def test_a_rule_about_the_user_protects_the_users_lease(service: Canned, tmp_path: Path) -> None:
    send = with_rules(service, tmp_path, '"blazar:leases:delete": "user_id:%(user_id)s"')
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    assert send("DELETE", LEASE_PATH, "admin").status_code == 403
    assert not service.commands
    assert send("DELETE", LEASE_PATH, "member").status_code == 204


def test_a_list_shows_only_leases_that_can_be_got_singly(service: Canned, tmp_path: Path) -> None:
    send = with_rules(service, tmp_path, '"blazar:leases:get": "user_id:%(user_id)s"')
    assert send("GET", LEASE_PATH, "colleague").status_code == 404
    assert send("GET", "/v1/leases", "colleague").json == {"leases": []}
    assert len(send("GET", "/v1/leases", "member").json["leases"]) == 1


def test_the_old_defaults_can_be_kept(service: Canned, conf: cfg.ConfigOpts) -> None:
    send = edge(service, conf)
    conf.set_override("enforce_new_defaults", False, group="oslo_policy")
    with pytest.warns(UserWarning, match="deprecated"):
        assert send("GET", LEASE_PATH, "norole").status_code == 200
    assert send("GET", LEASE_PATH, "stranger").status_code == 404
