"""The calendar of hosts, which every kind that reserves hosts or room on them shares, and where hosts lie."""

from blazar.domain.resource import Pool

POOL = Pool("host")
ZONE = "availability_zone"
"""The property of a host that has its zone."""
