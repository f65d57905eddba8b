"""Are all servers and server groups found, however short the pages are that Nova gives?"""

from __future__ import annotations

from typing import Any

import pytest

from blazar.adapters.openstack.nova import NovaCompute


class ShortPages:
    """What NovaCompute needs of a service's API, on a Nova with ``[api] max_limit``."""

    def __init__(self, number: int, max_limit: int, knows_offset: bool = True) -> None:
        self._rows = [
            {"id": str(n), "name": "wanted", "status": "ACTIVE", "policy": "affinity"} for n in range(number)
        ]
        self._max_limit = max_limit
        self._knows_offset = knows_offset
        self.calls = 0

    @staticmethod
    def _hypervisor(row: dict[str, Any]) -> dict[str, Any]:
        return {"id": int(row["id"]), "hypervisor_hostname": row["id"], "service": {"host": row["id"]}}

    def get(self, path: str, version: str | None = None, **params: Any) -> Any:
        self.calls += 1
        if path == "/os-services":
            return {"services": []}
        size = min(params["limit"], self._max_limit)
        if path == "/os-server-groups":
            first = params["offset"] if self._knows_offset else 0
            return {"server_groups": self._rows[first : first + size]}
        first = int(params["marker"]) + 1 if "marker" in params else 0
        if path == "/os-hypervisors/detail":
            assert version == "2.53"  # where a marker is a UUID: two cells may have the same number
            hypervisors = [self._hypervisor(row) for row in self._rows[first : first + size]]
            links = [{"rel": "next"}] if len(hypervisors) == size else []
            return {"hypervisors": hypervisors, "hypervisors_links": links}
        page: dict[str, Any] = {"servers": self._rows[first : first + size]}
        if len(page["servers"]) == size and size:
            page["servers_links"] = [{"rel": "next", "href": "..."}]
        return page


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8])
@pytest.mark.parametrize("max_limit", [2, 7, 1000])
def test_every_server_and_group_is_found(number: int, max_limit: int) -> None:
    compute = NovaCompute(ShortPages(number, max_limit))  # type: ignore[arg-type]
    expected = [str(n) for n in range(number)]
    assert [server.id for server in compute.servers_on("host")] == expected
    assert [server.id for server in compute.servers_of("flavor")] == expected
    assert [hypervisor.uuid for hypervisor in compute.hypervisors()] == expected
    assert [group.id for group in compute.server_groups("wanted")] == expected
    assert not compute.server_groups("another")


def test_a_nova_that_gives_all_groups_at_once_is_asked_twice() -> None:
    api = ShortPages(5, 1000, knows_offset=False)
    assert len(NovaCompute(api).server_groups("wanted")) == 5  # type: ignore[arg-type]
    assert api.calls == 2


def test_servers_on_one_page_cost_one_request() -> None:
    api = ShortPages(5, 1000)
    assert len(NovaCompute(api).servers_on("host")) == 5  # type: ignore[arg-type]
    assert api.calls == 1
