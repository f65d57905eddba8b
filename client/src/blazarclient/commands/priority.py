"""The option for the priority of a lease."""

from __future__ import annotations

import argparse

from blazarclient.v1.priority import PRIORITIES


def add_priority_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--priority",
        choices=PRIORITIES,
        help="The class of the lease: one of a higher class may displace those of lower classes before they "
        "start",
    )
