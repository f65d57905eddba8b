"""What an operator enables is there, with all that it contributes, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from blazar.bootstrap.remote import build_remote_service
from blazar.plugins import list_rules, load_plugins
from blazar.service.enabled_kinds import KindDisabled

from .conftest import House, configured

HOSTS = ("physical.host.plugin", "virtual.instance.plugin", "flavor.instance.plugin")


@pytest.mark.parametrize("plugin", HOSTS)
def test_each_kind_on_hosts_brings_the_hosts(tmp_path: Path, plugin: str) -> None:
    plugins = load_plugins(configured(tmp_path, f"[manager]\nplugins = {plugin}\n"))
    assert len(plugins.kinds) == 1
    core = {"leases", "health", "quotas", "services", "capacity", "availability", "explanations", "offers"}
    core |= {"maintenances", "lifetimes", "buffers", "subscriptions", "feeds", "mail", "waitlist", "timeline"}
    core |= {"promises", "series", "shares", "usage", "start_tasks"}
    assert set(plugins.interfaces) == core | {"hosts", "allocations"}
    assert {rule.name.split(":")[1] for rule in plugins.policies} == {"oshosts"}


def test_several_kinds_share_one_extension_in_any_order(tmp_path: Path) -> None:
    names = ", ".join(("virtual.floatingip.plugin", *reversed(HOSTS)))
    plugins = load_plugins(configured(tmp_path, f"[manager]\nplugins = {names}\n"))
    assert len(plugins.kinds) == 4
    assert [extension.name for extension in plugins.extensions] == ["floatingips", "hosts"]


def test_what_is_not_enabled_cannot_be_called(tmp_path: Path) -> None:
    service = build_remote_service(configured(tmp_path, "[manager]\nplugins = virtual.floatingip.plugin\n"))
    assert service.noun("floatingips") is not None
    with pytest.raises(KeyError):
        service.noun("hosts")


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"no such resource plugin: nope\.plugin"):
        load_plugins(configured(tmp_path, "[manager]\nplugins = nope.plugin\n"))


def test_the_sample_has_the_rules_of_all_installed_kinds() -> None:
    nouns = dict.fromkeys(rule.name.split(":")[1] for rule in list_rules() if ":" in rule.name)
    core = ["leases", "availability", "offers", "waitlist", "maintenances", "subscriptions"]
    core += ["series", "shares", "feeds", "mail", "quotas", "services", "capacity", "timeline", "promises"]
    core += ["usage"]
    assert list(nouns) == [*core, "oshosts", "floatingips", "networksegments", "portpool", "volumetypes"]


def test_a_manager_does_not_start_without_a_kind_that_leases_need(tmp_path: Path) -> None:
    text = f"[database]\nconnection = sqlite:///{tmp_path}/blazar.db\n"
    house = House(configured(tmp_path, text), hosts=3)
    house.manager.start()
    house.register("compute-1")
    reservation = {
        "resource_type": "physical:host",
        "min": 1,
        "max": 1,
        "hypervisor_properties": "",
        "resource_properties": "",
    }
    dates = {"start_date": "2050-01-01 10:00", "end_date": "2050-01-01 11:00"}
    made = house.send("POST", "/v1/leases", json={"name": "a", "reservations": [reservation], **dates})
    lease_id = made.json["lease"]["id"]
    house.manager.stop()

    fewer = House(configured(tmp_path, f"{text}[manager]\nplugins = virtual.floatingip.plugin\n"), hosts=3)
    with pytest.raises(KindDisabled) as told:
        fewer.manager.start()
    assert told.value.fields == {"count": 1, "examples": lease_id}
    assert lease_id in told.value.message

    assert house.send("DELETE", f"/v1/leases/{lease_id}").status_code == 204
    fewer.manager.start()
    fewer.manager.stop()
    house.database.engine.dispose()
    fewer.database.engine.dispose()
