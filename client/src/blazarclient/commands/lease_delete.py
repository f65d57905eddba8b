"""The command that deletes leases: by their names and ids, or by what they have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from blazarclient import exception
from blazarclient.commands import lookup
from blazarclient.commands.base import DeleteCommand, Row, add_time_zone_option
from blazarclient.commands.lease_filters import add_filters, filters_of
from blazarclient.parsing.errors import InvalidInput

SENTENCES = {"deleted": "Deleted lease: {name}", "deleting": "Deleting lease: {name}"}


class DeleteLease(DeleteCommand):
    """Delete leases, with the servers that run in them: by their names and ids, or all that meet the options,
    which takes a service with version 1.18."""

    noun = "lease"
    argument_help = "ID or name of lease to delete; several can be given"
    arguments = "*"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_time_zone_option(parser)
        add_filters(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="Only print the leases that meet the options"
        )
        parser.add_argument(
            "--yes", action="store_true", help="Delete the leases that meet the options without asking"
        )
        return parser

    def delete(self, reference: str) -> None:
        leases = self.reservation.lease
        leases.delete(lookup.lease_id(reference, leases))

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        filters = filters_of(parsed_args, self.clock, self.zone)
        has_filters = any(value is not None for value in filters.values())
        if has_filters == bool(parsed_args.references):
            raise InvalidInput(
                "Give either leases or options such as --status and --starts-after, by which they are found."
            )
        if not has_filters:
            super().take_action(parsed_args)
            return
        leases = self.reservation.lease
        found = [] if parsed_args.yes else leases.delete_matching(dry_run=True, **filters)
        if parsed_args.yes or self._agreed(found, parsed_args.dry_run):
            self._tell(leases.delete_matching(**filters))

    def _agreed(self, found: Sequence[Row], is_dry_run: bool) -> bool:
        """Print the leases, and ask whether they shall be deleted. Raises InvalidInput without a terminal."""
        for each in found:
            reason = f" ({each['error_message']})" if "error_message" in each else ""
            self.print_result(f"{each['id']}  {each['name']}{reason}")
        if is_dry_run or not found:
            self.print_note(f"{len(found) or 'No'} leases meet the options.")
            return False
        if not self.app.stdin.isatty():
            raise InvalidInput("Nothing was deleted: add --yes to delete these leases.")
        self.app.stderr.write(f"Delete these {len(found)} leases, with the servers in them? [y/N] ")
        self.app.stderr.flush()
        return self.app.stdin.readline().strip().lower() in ("y", "yes")

    def _tell(self, found: Sequence[Row]) -> None:
        refused = [each for each in found if each["outcome"] not in SENTENCES]
        for each in found:
            if each["outcome"] in SENTENCES:
                self.print_result(SENTENCES[each["outcome"]].format(**each))
        for each in refused:
            self.app.LOG.error("%s: %s", each["name"], each.get("error_message", each["outcome"]))
        if refused:
            raise exception.BlazarClientException(
                f"{len(refused)} of {len(found)} could not be deleted", code=0
            )
