"""The commands for quotas, and for what is used of them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from blazarclient.commands.base import ListCommand, ReservationCommand, Row, ShowCommand
from blazarclient.parsing.errors import InvalidInput
from blazarclient.v1.ordering import sort_rows

UNLIMITED = "unlimited"
LIMIT = re.compile(rf"([^=]+)=(-1|\d{{1,18}}|{UNLIMITED})", re.ASCII)


class ShowQuota(ShowCommand):
    """Show the limits of a project: -1 is no limit."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_own_project(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        quota = self.reservation.quota.get(parsed_args.project)
        row = {"project_id": quota["project_id"], "own": quota["own"], **quota["limits"]}
        return self.format_row(row, parsed_args)


class ListQuotas(ListCommand):
    """List the limits that projects have of their own (administrators)."""

    columns = ("project_id", "name", "limit")
    default_sort = "project_id"

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        rows = [
            {"project_id": quota["project_id"], "name": name, "limit": quota["limits"][name]}
            for quota in self.reservation.quota.list()["quotas"]
            for name in quota["own"]
        ]
        return sort_rows(rows, parsed_args.sort_by)


class SetQuota(ReservationCommand):
    """Give a project limits of its own (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_project(parser)
        parser.add_argument(
            "limits",
            metavar="LIMIT=NUMBER",
            nargs="+",
            help=f"Limits by name, such as hosts=10; -1 or {UNLIMITED} for none",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        limits = dict(_limit(text) for text in parsed_args.limits)
        self.reservation.quota.set(parsed_args.project, limits)
        self.print_result(f"Updated quota: {parsed_args.project}")


class UnsetQuota(ReservationCommand):
    """Give up limits of a project's own (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_project(parser)
        parser.add_argument(
            "names", metavar="LIMIT", nargs="*", help="Limits to give up; without one, all of them"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.reservation.quota.unset(parsed_args.project, parsed_args.names)
        self.print_result(f"Updated quota: {parsed_args.project}")


class ShowUsage(ListCommand):
    """Show how much the leases of a project use of what limits count, now and at the most from now on."""

    columns = ("name", "limit", "now", "peak")
    default_sort = "name"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_own_project(parser)
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        usage = self.reservation.quota.usage(parsed_args.project)
        return sort_rows(usage["limits"], parsed_args.sort_by)


def _add_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", help="ID of the project")


def _add_own_project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="ID of the project (default: your own project)"
    )


def _limit(text: str) -> tuple[str, int]:
    """Return name and number. Raises InvalidInput."""
    found = LIMIT.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{text} is to be NAME=NUMBER, such as hosts=10 or hosts={UNLIMITED}")
    name, number = found.groups()
    return name, -1 if number == UNLIMITED else int(number)
