"""blazar-db-manage import: take over a database of upstream Blazar."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

from sqlalchemy.exc import ArgumentError

from blazar.adapters.clock import SystemClock
from blazar.service.ports import Database
from blazar.upstream.importing import Import
from blazar.upstream.report import Line, Verdict
from blazar.upstream.source import UnsuitableSource, open_source

HELP = "take hosts, floating IPs and leases from a database of upstream Blazar 17 or 18"
NOTHING = "Nothing was written."


class NotImported(Exception):
    """The import cannot be made; the message says why. Nothing was changed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        required=True,
        metavar="URL",
        help="SQLAlchemy URL of upstream's database, which is only read",
    )
    parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")


def take_over(url: str, database: Database, is_dry_run: bool) -> int:
    """Import, and print a line for each thing, then how many there are. Return the exit code: 1 where
    something was refused that is not over.

    Raises NotImported, CloudUnavailable, Busy."""
    counts: Counter[tuple[str, Verdict]] = Counter()
    lost = 0
    for line in lines(url, database, is_dry_run):
        print(line.sentence, flush=True)
        counts[line.noun, line.verdict] += 1
        lost += line.is_lost
    for noun in dict.fromkeys(noun for noun, _ in counts):
        told = ", ".join(f"{counts[noun, each]} {each}" for each in Verdict if counts[noun, each])
        print(f"{noun}: {told}")
    if is_dry_run:
        print(NOTHING)
    return 1 if lost else 0


def lines(url: str, database: Database, is_dry_run: bool) -> Iterator[Line]:
    """Import, and yield a line for each thing. Raises as ``take_over`` does."""
    try:
        with open_source(url) as source:
            yield from Import(source, database, SystemClock(), is_dry_run).run()
    except UnsuitableSource as error:
        raise NotImported(str(error)) from error
    except ModuleNotFoundError as missing:
        raise NotImported(f"the driver of upstream's database is not installed: {missing.name}") from missing
    except (ValueError, ArgumentError, ImportError) as error:
        # Not the error's own words, which may show a password.
        raise NotImported(
            f"the URL of upstream's database cannot be used ({type(error).__name__})"
        ) from error
