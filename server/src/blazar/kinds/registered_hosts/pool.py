"""The calendars of hosts, one for each region, which every kind that reserves hosts or room on them shares,
and where hosts lie."""

from collections.abc import Mapping, Sequence

from blazar.domain.resource import Pool, PropertyValue, pool_in
from blazar.service.ports import Cloud

POOL = Pool("host")
ZONE = "availability_zone"
"""The property of a host that has its zone."""
REGION = "region"
"""The property of a host that has its region, where there are several."""


def host_pools(cloud: Cloud) -> Sequence[Pool]:
    """Return the calendars of hosts in all regions."""
    return [POOL, *(pool_in(POOL, region) for region in cloud.regions[1:])]


def region_fact(region: str | None, cloud: Cloud) -> Mapping[str, PropertyValue]:
    """Return what a host of the region tells of it; None is the first one. Nothing where there is but one."""
    return {REGION: region or cloud.regions[0]} if cloud.regions else {}
