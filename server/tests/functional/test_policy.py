"""The words of refusals, and operators' own rules. Who may do what is the table of test_rbac.py."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from oslo_config import cfg

from blazar.cmd.api import ApiWorker
from blazar.policies import LOOK_SECONDS

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
    """The edge with an operator's own policy file, looked at by each request as if long ago."""
    (tmp_path / "policy.yaml").write_text(rules)
    conf = configured(tmp_path, f"[oslo_policy]\npolicy_file = {tmp_path / 'policy.yaml'}\n")
    return edge(service, conf, monotonic=count(step=2 * LOOK_SECONDS).__next__)


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


BROKEN = ["a: [\n", "just words\n", "- a\n- list\n"]
MEMBERS_OWN = '"blazar:leases:delete": "user_id:%(user_id)s"'


def rewritten(path: Path, rules: str) -> None:
    """Write the file with a time that a file system tells apart from the one before."""
    later = path.stat().st_mtime + 10
    path.write_text(rules)
    os.utime(path, (later, later))


@pytest.mark.parametrize("mistake", BROKEN)
def test_rules_stay_while_the_file_makes_no_sense(
    service: Canned, tmp_path: Path, caplog: pytest.LogCaptureFixture, mistake: str
) -> None:
    send = with_rules(service, tmp_path, MEMBERS_OWN)
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    rewritten(tmp_path / "policy.yaml", mistake)
    for _ in range(3):
        assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
        assert send("DELETE", LEASE_PATH, "member").status_code == 204
    told = [each.getMessage() for each in caplog.records if "policy_file makes no sense" in each.getMessage()]
    assert len(told) == 1
    rewritten(tmp_path / "policy.yaml", '"blazar:leases:delete": "!"')
    assert send("DELETE", LEASE_PATH, "member").status_code == 403


def test_rules_hold_for_a_second(service: Canned, tmp_path: Path) -> None:
    """A request asks several rules: the file is not looked for at each."""
    path, now = tmp_path / "policy.yaml", [0.0]
    path.write_text(MEMBERS_OWN)
    conf = configured(tmp_path, f"[oslo_policy]\npolicy_file = {path}\n")
    send = edge(service, conf, monotonic=lambda: now[0])
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    path.unlink()
    now[0] = LOOK_SECONDS - 0.1
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    now[0] = LOOK_SECONDS
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 204


def test_without_the_file_the_defaults_hold(
    service: Canned, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    send = with_rules(service, tmp_path, MEMBERS_OWN)
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    (tmp_path / "policy.yaml").unlink()
    for _ in range(2):
        assert send("DELETE", LEASE_PATH, "colleague").status_code == 204
    told = [each for each in caplog.records if each.getMessage().startswith("Config file not found")]
    assert len(told) > 1


def test_a_file_of_an_earlier_time_is_not_read(service: Canned, tmp_path: Path) -> None:
    send, path = with_rules(service, tmp_path, MEMBERS_OWN), tmp_path / "policy.yaml"
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    path.write_text("")
    os.utime(path, (1, 1))
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 403
    path.touch()
    assert send("DELETE", LEASE_PATH, "colleague").status_code == 204


@pytest.mark.parametrize("mistake", BROKEN)
def test_the_api_does_not_start_with_a_file_that_makes_no_sense(tmp_path: Path, mistake: str) -> None:
    (tmp_path / "policy.yaml").write_text(mistake)
    conf = configured(tmp_path, f"[oslo_policy]\npolicy_file = {tmp_path / 'policy.yaml'}\n")
    with pytest.raises(ValueError, match=r"\[oslo_policy\] policy_file makes no sense"):
        ApiWorker.require_sound(conf)


def test_a_rule_that_does_not_exist_is_told(
    service: Canned, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    send = with_rules(service, tmp_path, '"blazar:lease:delete": "!"\n"our_own": "role:boss"\n')
    assert send("DELETE", LEASE_PATH, "member").status_code == 204
    told = "policy_file has rules that do not exist and change nothing: blazar:lease:delete"
    assert [each.getMessage() for each in caplog.records if "do not exist" in each.getMessage()] == [told]
