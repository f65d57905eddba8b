"""Hosts as resources: registration, properties and allocations, and the calendar that their kinds share.

physical:host, virtual:instance and flavor:instance all reserve hosts or room on them, so each names this
extension, and it is there once."""

from blazar.kinds.registered_hosts.extension import HostsExtension
from blazar.kinds.registered_hosts.pool import POOL, ZONE

__all__ = ["POOL", "ZONE", "HostsExtension"]
