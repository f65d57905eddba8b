"""The quota of a project's ports in Neutron, and the ports that count in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from blazar.kinds.excess import Counted
from blazar.kinds.quota_shares import UNLIMITED, Amounts
from blazar.service.ports import Network

PORT = "port"
"""Neutron's name of the limit."""
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


class PortLimit:
    """The limit of one project's ports."""

    noun = "ports"

    def __init__(self, network: Network, project_id: str) -> None:
        self._network = network
        self._project_id = project_id

    def limits(self, names: Iterable[str]) -> Amounts:
        limit = self._network.port_limit(self._project_id)
        return {} if limit == UNLIMITED else dict.fromkeys(names, limit)

    def used(self, names: Iterable[str]) -> Amounts:
        return dict.fromkeys(names, len(self._network.ports_of(self._project_id)))

    def least(self, names: Iterable[str]) -> Amounts:
        """Neutron takes any limit: a project that has more ports can have no new ones."""
        return dict.fromkeys(names, 0)

    def set(self, limits: Amounts) -> None:
        self._network.set_port_limit(self._project_id, limits[PORT])

    def title(self, name: str) -> str:
        return name


class PortsOfProject:
    """The ports that a project has. Those that serve something are in use."""

    def __init__(self, network: Network, project_id: str) -> None:
        self.quota = PortLimit(network, project_id)
        self._network = network
        self._project_id = project_id

    def list(self) -> Sequence[Counted]:
        found = [
            Counted(
                each.id, each.created_at or BEFORE_ALL, {PORT: 1}, is_free=not (each.owner or each.device_id)
            )
            for each in self._network.ports_of(self._project_id)
        ]
        return sorted(found, key=lambda each: (each.created_at, each.id), reverse=True)

    def delete(self, id_: str) -> None:
        self._network.delete_port(id_)
