"""What do all commands do alike: find the client, read times, explain errors, end with an honest exit code?

Exit codes: 0 done; 1 the service or the cloud refused or failed; 2 the command line cannot be meant, nothing was
sent; 3 waited in vain, the lease failed; 4 waited in vain, the time was over; 130 interrupted.
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
from blazarclient.commands.advice import advise
from blazarclient.commands.columns import sort_key_action
from blazarclient.reading.errors import NotUnderstood
from blazarclient.reading.zones import ENVIRONMENT_VARIABLE, chosen_zone
from blazarclient.showing.cells import fields, in_zone, to_the_minute
from blazarclient.v1.client import Client

FAILED = 1
NOT_UNDERSTOOD = 2
INTERRUPTED = 130

Row = dict[str, Any]
_SYSTEM_CLOCK = SystemClock()
_LOG = logging.getLogger(__name__)


def add_time_zone_option(parser: argparse.ArgumentParser) -> None:
    """The option of commands that read or show times; its effect is in `ReservationCommand.zone`."""
    parser.add_argument(
        "--time-zone",
        metavar="<zone>",
        help="Read and show times in this zone: UTC, local, or a name like Europe/Berlin (default: UTC, or "
        f"env[{ENVIRONMENT_VARIABLE}])",
    )


class ReservationCommand(command.Command):
    """The base of every command."""

    zone: tzinfo | None = None

    @property
    def clock(self) -> Clock:
        """The clock of the application, if it has one of its own."""
        clock: Clock = getattr(self.app, "clock", _SYSTEM_CLOCK)
        return clock

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            self.zone = chosen_zone(getattr(parsed_args, "time_zone", None))
            return super().run(parsed_args) or 0
        except NotUnderstood as error:
            return self._fail(NOT_UNDERSTOOD, str(error), error)
        except KeyboardInterrupt:
            self.app.stderr.write("\nInterrupted.\n")
            return INTERRUPTED
        except (
            exception.BlazarClientException,
            ksa_exceptions.ClientException,
            requests.RequestException,
        ) as error:
            return self._fail(FAILED, advise(error, self.cmd_name or ""), error)

    def _fail(self, code: int, text: str, error: Exception) -> int:
        self.app.LOG.error("%s", text)
        _LOG.debug("the error in full", exc_info=error)
        return code

    @property
    def reservation(self) -> Client:
        """The library's client for the caller's project."""
        client: Client = self.app.client_manager.reservation  # type: ignore[attr-defined] # a plugin adds it
        return client

    def say(self, sentence: str) -> None:
        """A sentence on standard output, where scripts expect it."""
        self.app.stdout.write(sentence + "\n")

    def note(self, sentence: str) -> None:
        """A sentence for people, on standard error."""
        self.app.stderr.write(sentence + "\n")


class ListCommand(ReservationCommand, lister.Lister):
    """The base of commands that print a table of resources."""

    columns: ClassVar[tuple[str, ...]]
    default_sort: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument(
            "--sort-by",
            metavar="<column>",
            default=self.default_sort,
            action=sort_key_action(self.columns),
            help=f"Column to sort by: one of {', '.join(self.columns)} (default: {self.default_sort})",
        )
        return parser

    def rows(self, parsed_args: argparse.Namespace) -> Sequence[Row]:
        """What to list, sorted."""
        raise NotImplementedError

    def shown_columns(self, parsed_args: argparse.Namespace) -> tuple[str, ...]:
        """The columns when none are chosen with -c."""
        return self.columns

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        rows = [in_zone(row, self.zone) for row in self.rows(parsed_args)]
        known = list(rows[0]) if rows else []
        wanted = [name for name in parsed_args.columns or self.shown_columns(parsed_args) if name in known]
        if parsed_args.formatter == "table" and self.app.stdout.isatty():
            rows = [{name: to_the_minute(value, name) for name, value in row.items()} for row in rows]
        return wanted, [["" if row.get(name) is None else row[name] for name in wanted] for row in rows]


class ShowCommand(ReservationCommand, show.ShowOne):
    """The base of commands that print one resource."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        parser.add_argument(
            "--native",
            action="store_true",
            help="Keep lists, objects and nulls in json and yaml output what they are, instead of turning them into "
            "text, and print nothing before the output",
        )
        return parser

    def shown(self, row: Row, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Sequence[Any]]:
        """Names and cells of a resource."""
        native = parsed_args.native and parsed_args.formatter in ("json", "yaml")
        return fields(in_zone(row, self.zone), native=native)

    def announce(self, sentence: str, parsed_args: argparse.Namespace) -> None:
        """The sentence before the output of a create command."""
        if parsed_args.native:
            self.note(sentence)
        else:
            self.say(sentence)


class DeleteCommand(ReservationCommand):
    """The base of commands that delete resources: all are tried, and one failure makes the command fail."""

    noun: ClassVar[str]
    what: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("references", metavar=self.noun.upper(), nargs="+", help=self.what)
        return parser

    def delete(self, reference: str) -> None:
        """Delete the resource that this reference names."""
        raise NotImplementedError

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        failures: list[Exception] = []
        for reference in parsed_args.references:
            failure = self._try(lambda reference=reference: self.delete(reference))  # type: ignore[misc]
            if failure is None:
                self.say(f"Deleted {self.noun}: {reference}")
            elif len(parsed_args.references) == 1:
                raise failure
            else:
                failures.append(failure)
                self.app.LOG.error("%s: %s", reference, advise(failure, self.cmd_name or ""))
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
