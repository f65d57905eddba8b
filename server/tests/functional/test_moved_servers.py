"""A preemptible server whose flavor says so moves to another host when a lease needs its own, and runs on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blazarnova import rule

from .sandboxed import Sandboxed, until
from .wishes import HOST

pytestmark = pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning")
COMPUTE = "/compute/v2.1"


def test_it_runs_on_another_host_when_the_lease_is_active(tmp_path: Path) -> None:
    at = Sandboxed(
        tmp_path,
        hosts=2,
        settings=rule.Settings(allow_preemptibles=True),
        nova={"end_preemptibles": "true"},
    )
    try:
        for host in ("compute-01", "compute-02"):
            assert at.send("POST", "/v1/os-hosts", "admin", json={"name": host}).status_code == 201
        body = {"flavor": {"name": "spare", "vcpus": 1, "ram": 512, "disk": 1}}
        flavor = str(at.openstack("POST", f"{COMPUTE}/flavors", json=body)["flavor"]["id"])
        extra = {"extra_specs": {"blazar:preemptible": "migrate"}}
        at.openstack("POST", f"{COMPUTE}/flavors/{flavor}/os-extra_specs", json=extra)
        server = at.boot("alt", flavor)
        here = server["OS-EXT-SRV-ATTR:host"]

        def shown() -> Any:
            return at.openstack("GET", f"{COMPUTE}/servers/{server['id']}")["server"]

        needed = {**HOST, "hypervisor_properties": f'["==", "$hypervisor_hostname", "{here}"]'}
        body = {"name": "a", "start_date": "now", "end_date": "2050-01-01 11:00", "reservations": [needed]}
        made = at.send("POST", "/v1/leases", "demo", json=body)
        assert made.status_code == 201, made.json
        path = f"/v1/leases/{made.json['lease']['id']}"
        assert until(lambda: at.send("GET", path, "demo").json["lease"]["status"] == "ACTIVE")
        assert shown()["status"] == "ACTIVE"
        assert shown()["OS-EXT-SRV-ATTR:host"] not in (None, here)
    finally:
        at.stop()
