"""The calendar of hosts, which every kind that reserves hosts or room on them shares."""

from blazar.domain.resource import Pool

POOL = Pool("host")
