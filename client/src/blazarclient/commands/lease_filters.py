"""The options by which leases are found, which the service carries out from microversion 1.1 on."""

from __future__ import annotations

import argparse
from datetime import UTC, tzinfo
from typing import Any

from blazarclient.clock import Clock
from blazarclient.parsing.times import TimeParser
from blazarclient.v1.priority import PRIORITIES
from blazarclient.wire_time import to_wire

WINDOW = {
    "starts_after": "Only leases that start at this time or later",
    "starts_before": "Only leases that start before this time",
    "ends_after": "Only leases that end after this time",
    "ends_before": "Only leases that end at this time or earlier",
}


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    parser.add_argument(
        "--status",
        metavar="<status>",
        action="append",
        type=str.upper,
        help="Only leases in this status, for example ACTIVE (repeatable)",
    )
    parser.add_argument("--name", metavar="<name>", help="Only leases of this name")
    parser.add_argument(
        "--project", metavar="<project-id>", help="Only leases of this project; for administrators"
    )
    parser.add_argument(
        "--resource-type", metavar="<type>", help="Only leases with a reservation of this kind"
    )
    parser.add_argument(
        "--priority", choices=PRIORITIES, help="Only leases of this class; the service has it since 1.13"
    )
    for name, help_ in WINDOW.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="<time>", help=help_)


def filters_of(parsed_args: argparse.Namespace, clock: Clock, zone: tzinfo | None) -> dict[str, Any]:
    """Return the filters as the library takes them; None is no condition. Raises InvalidInput."""
    time_parser = TimeParser(clock.now(), zone or UTC)
    given = {name: getattr(parsed_args, name) for name in WINDOW}
    return {
        "status": parsed_args.status or None,
        "name": parsed_args.name,
        "project_id": parsed_args.project,
        "resource_type": parsed_args.resource_type,
        "priority": parsed_args.priority,
        **{name: None if text is None else to_wire(time_parser.parse(text)) for name, text in given.items()},
    }
