"""The words of refusals, and operators' own rules. Who may do what is the table of test_rbac.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from oslo_config import cfg

from .canned import FLOATING_IP, LEASE_ID, Canned
from .conftest import Send, configured, edge

LEASE_PATH = f"/v1/leases/{LEASE_ID}"
FLOATING_IP_PATH = f"/v1/floatingips/{FLOATING_IP.id}"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_anothers_lease_is_told_apart_from_an_absent_one_by_nobody(send: Send, method: str) -> None:
    absent_id = LEASE_ID.replace("0", "1")
    there, absent = (
        send(method, f"/v1/leases/{each}", "stranger", body=b"{}") for each in (LEASE_ID, absent_id)
    )
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
