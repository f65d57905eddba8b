"""Is a hypervisor never taken for another one that has the same number in another cell of Nova?"""

from __future__ import annotations

from typing import Any

import pytest

from blazar.adapters.openstack.nova import NovaCompute
from blazar.domain.errors import CloudRefused

SIZES = {"vcpus": 8, "memory_mb": 1024, "local_gb": 10, "cpu_info": "{}", "hypervisor_type": "QEMU"}


class TwoCells:
    """What NovaCompute needs of a service's API, on a Nova whose cells count from 1 each: compute-1 and
    compute-2 in the first, compute-3 in the second."""

    def __init__(self) -> None:
        self._rows = [
            {"id": number, "hypervisor_hostname": name, "service": {"host": name}, **SIZES}
            for number, name in ((1, "compute-1"), (2, "compute-2"), (1, "compute-3"))
        ]

    def get(self, path: str, version: str | None = None, **params: Any) -> Any:
        return {"services": [{"zone": "nova"}]}

    def find(self, path: str, version: str | None = None, **params: Any) -> Any:
        reference, _, search = path.removeprefix("/os-hypervisors/").partition("/")
        if search:
            found = [row for row in self._rows if reference in row["hypervisor_hostname"]]
            return {"hypervisors": found} if found else None
        first = next((row for row in self._rows if str(row["id"]) == reference), None)
        return {"hypervisor": first} if first else None


@pytest.mark.parametrize("name", ["compute-1", "compute-2"])
def test_a_hypervisor_that_nova_shows_is_found(name: str) -> None:
    found = NovaCompute(TwoCells()).find_hypervisor(name)  # type: ignore[arg-type]
    assert found is not None
    assert (found.hypervisor_hostname, found.service_name) == (name, name)


def test_a_hypervisor_is_not_taken_for_one_of_another_cell() -> None:
    with pytest.raises(CloudRefused, match="compute-3 and compute-1, in two cells, have the same id 1"):
        NovaCompute(TwoCells()).find_hypervisor("compute-3")  # type: ignore[arg-type]
