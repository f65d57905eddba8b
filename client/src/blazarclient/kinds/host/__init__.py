"""The kind ``physical:host``: whole hosts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient import exception
from blazarclient.kinds.base import NUMBER, CommandNames, Kind, RegisteredResource, SDKExtension
from blazarclient.kinds.compute_fields import BEFORE_END, requirement
from blazarclient.kinds.fields import BooleanField, ChoiceField, CountField
from blazarclient.parsing.errors import InvalidInput
from blazarclient.transport import Transport

HOST = RegisteredResource(
    noun="host", name_key="hypervisor_hostname", id_pattern=NUMBER, allocations_path="os-hosts"
)


class HostKind(Kind):
    """Whole hosts."""

    resource_type = "physical:host"
    help = "whole hosts"
    position = 10
    fields = (
        CountField(name="min", help="at least so many hosts", required=True, minimum=1),
        CountField(name="max", help="at most so many hosts", required=True, minimum=1),
        requirement("hypervisor_properties"),
        requirement("resource_properties"),
        BEFORE_END,
        ChoiceField(
            name="match",
            help="which servers run there: explicit, with the hint; open, all of the project that fit",
            choices=("explicit", "open"),
            since="1.29",
        ),
        BooleanField(
            name="lend",
            help="whether preemptible servers of others may run on hosts that it does not use",
            since="1.43",
        ),
        CountField(
            name="keep_free", help="how many of these hosts are kept free, 1 if left out", since="1.43"
        ),
    )
    resource = HOST

    def check(self, reservation: Mapping[str, Any]) -> None:
        if reservation["max"] < reservation["min"]:
            raise InvalidInput(f"max={reservation['max']} is less than min={reservation['min']}")

    def managers(self, transport: Transport) -> Mapping[str, object]:
        from blazarclient.kinds.host.v1 import Hosts

        return {"host": Hosts(transport)}

    def sdk(self) -> SDKExtension:
        from blazarclient.kinds.host.sdk import Host, HostMethods, HostProperty

        return SDKExtension(HostMethods, (Host, HostProperty))

    def advice(self, error: Exception, names: CommandNames) -> str:
        if isinstance(error, exception.ResourcePropertyNotFound):
            listing = names.call("host property", "list")
            return f"See the properties there are with {listing}; private ones need --all."
        if names.noun == HOST.noun and names.is_create and getattr(error, "code", 0) == 404:
            return "See the hosts of the cloud with `openstack hypervisor list`."
        return ""
