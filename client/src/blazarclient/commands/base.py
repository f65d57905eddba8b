"""The base classes of the commands: client, time zone, errors and exit codes.

Exit codes: 0 success; 1 the service or the cloud refused or failed; 2 the command line is invalid and nothing
was sent; 3 the lease failed during the wait; 4 the wait timed out; 130 interrupted.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any, ClassVar

import requests
from cliff import command, lister, show
from keystoneauth1 import exceptions as ksa_exceptions

from blazarclient import exception
from blazarclient.clock import Clock, SystemClock
from blazarclient.commands.advice import describe_error
from blazarclient.commands.columns import sort_column_action
from blazarclient.formatting.cells import format_fields, in_zone, without_seconds
from blazarclient.parsing.errors import InvalidInput
from blazarclient.parsing.time_zones import ENVIRONMENT_VARIABLE, selected_time_zone
from blazarclient.v1.client import Client

FAILED = 1
INVALID_INPUT = 2
INTERRUPTED = 130

Row = dict[str, Any]
_SYSTEM_CLOCK = SystemClock()
_LOG = logging.getLogger(__name__)


def add_time_zone_option(parser: argparse.ArgumentParser) -> None:
    """Add `--time-zone`, whose value is in `ReservationCommand.zone`, to a command with times."""
    parser.add_argument(
        "--time-zone",
        metavar="<zone>",
        help="Read and show times in this zone: UTC, local, or a name like Europe/Berlin (default: UTC, or "
        f"env[{ENVIRONMENT_VARIABLE}])",
    )


class ReservationCommand(command.Command):
    """The base class of all commands."""

    zone: tzinfo | None = None

    @property
    def clock(self) -> Clock:
        """Return the clock of the application, or the system clock."""
        clock: Clock = getattr(self.app, "clock", _SYSTEM_CLOCK)
        return clock

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            self.zone = selected_time_zone(getattr(parsed_args, "time_zone", None))
            return super().run(parsed_args) or 0
        except InvalidInput as error:
            return self._fail(INVALID_INPUT, str(error), error)
        except KeyboardInterrupt:
            self.app.stderr.write("\nInterrupted.\n")
            return INTERRUPTED
        except (
            exception.BlazarClientException,
            ksa_exceptions.ClientException,
            requests.RequestException,
        ) as error:
            return self._fail(FAILED, describe_error(error, self.cmd_name or ""), error)

    def _fail(self, code: int, text: str, error: Exception) -> int:
        self.app.LOG.error("%s", text)
        _LOG.debug("the full error", exc_info=error)
        return code

    @property
    def reservation(self) -> Client:
        """Return the v1 client for the caller's project."""
        client: Client = self.app.client_manager.reservation  # type: ignore[attr-defined] # a plugin adds it
        return client

    def print_result(self, sentence: str) -> None:
        """Print a sentence on standard output, where scripts expect it."""
        self.app.stdout.write(sentence + "\n")

    def print_note(self, sentence: str) -> None:
        """Print a sentence for people on standard error."""
        self.app.stderr.write(sentence + "\n")


class ListCommand(ReservationCommand, lister.Lister):
    """The base class of commands that print a table of resources."""

    columns: ClassVar[tuple[str, ...]]
    default_sort: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument(
            "--sort-by",
            metavar="<column>",
            default=self.default_sort,
            action=sort_column_action(self.columns),
            help=f"Column to sort by: one of {', '.join(self.columns)} (default: {self.default_sort})",
        )
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        """Return the sorted rows of the list."""
        raise NotImplementedError

    def default_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """Return the columns without -c."""
        return self.columns

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        rows = [in_zone(row, self.zone) for row in self.rows(parsed_args)]
        known = list(rows[0]) if rows else []
        wanted = [name for name in parsed_args.columns or self.default_columns(parsed_args) if name in known]
        if parsed_args.formatter == "table" and self.app.stdout.isatty():
            rows = [{name: without_seconds(value, name) for name, value in row.items()} for row in rows]
        return wanted, [["" if row.get(name) is None else row[name] for name in wanted] for row in rows]


class ShowCommand(ReservationCommand, show.ShowOne):
    """The base class of commands that print one resource."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument(
            "--native",
            action="store_true",
            help="Keep lists, objects and nulls in json and yaml output what they are, instead of turning "
            "them into text, and print nothing before the output",
        )
        return parser

    def format_row(self, row: Row, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Return the names and cells of a resource."""
        native = parsed_args.native and parsed_args.formatter in ("json", "yaml")
        return format_fields(in_zone(row, self.zone), native=native)

    def announce(self, sentence: str, parsed_args: argparse.Namespace) -> None:
        """Print the sentence before the output of a create command."""
        if parsed_args.native:
            self.print_note(sentence)
        else:
            self.print_result(sentence)


class DeleteCommand(ReservationCommand):
    """The base class of commands that delete resources.

    A command tries to delete all given resources, and fails if one deletion fails.
    """

    noun: ClassVar[str]
    argument_help: ClassVar[str]
    arguments: ClassVar[str] = "+"
    """How many resources are named, in argparse's words."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "references", metavar=self.noun.upper(), nargs=self.arguments, help=self.argument_help
        )
        return parser

    def delete(self, reference: str) -> None:
        """Delete the resource with this name or id."""
        raise NotImplementedError

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        failures: list[Exception] = []
        for reference in parsed_args.references:
            failure = self._try(lambda reference=reference: self.delete(reference))  # type: ignore[misc]
            if failure is None:
                self.print_result(f"Deleted {self.noun}: {reference}")
            elif len(parsed_args.references) == 1:
                raise failure
            else:
                failures.append(failure)
                self.app.LOG.error("%s: %s", reference, describe_error(failure, self.cmd_name or ""))
        if failures:
            total = len(parsed_args.references)
            raise exception.BlazarClientException(f"{len(failures)} of {total} could not be deleted", code=0)

    @staticmethod
    def _try(action: Callable[[], None]) -> Exception | None:
        try:
            action()
        except exception.BlazarClientException as error:
            return error
        return None
