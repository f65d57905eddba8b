"""The command for the programs of the service."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from blazarclient.commands.base import ListCommand, Row


class ListServices(ListCommand):
    """List the managers of the reservation service: versions, load, lateness, and whether they run."""

    columns = ("binary", "host", "state", "version", "events", "plans", "late_seconds", "seen_at")
    default_sort = "host"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        return self.reservation.service.list(sort_by=parsed_args.sort_by)
