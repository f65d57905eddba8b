"""A Neutron driver that binds ports although no agent runs."""

from __future__ import annotations

from typing import Any

from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class LabMechanismDriver(api.MechanismDriver):  # type: ignore[misc]  # neutron_lib has no types
    """A driver that binds every port to its first segment, ACTIVE at once: there is no data plane."""

    def initialize(self) -> None:
        """Nothing to connect to."""

    @property
    def connectivity(self) -> str:
        return str(portbindings.CONNECTIVITY_L2)

    def bind_port(self, context: Any) -> None:
        segment = context.segments_to_bind[0]
        context.set_binding(
            segment[api.ID],
            portbindings.VIF_TYPE_OVS,
            {portbindings.CAP_PORT_FILTER: False},
            status=constants.PORT_STATUS_ACTIVE,
        )
