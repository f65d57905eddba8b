"""The option for the time in which a lease has to be used."""

from __future__ import annotations

import argparse
from datetime import timedelta

from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.v1.claim_by import DEFAULT

NEVER = "never"
MINUTE = timedelta(minutes=1)


def add_claim_by_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--claim-by",
        metavar="<duration>",
        help="How soon after its start the lease has to be used, like 30m or 2h: an unused one is released "
        f"then. '{NEVER}' for never, '{DEFAULT}' for what the operator has set",
    )


def parse_claim_by(text: str | None) -> int | str | None:
    """Return the time in minutes, as requests have it; 0 for never. Raises InvalidInput."""
    word = (text or "").strip().lower()
    if not word or word == DEFAULT:
        return word or None
    if word == NEVER:
        return 0
    duration = parse_duration(word)
    if duration < MINUTE or duration % MINUTE:
        raise InvalidInput(f"--claim-by counts in minutes, and '{text}' is not a number of them")
    return duration // MINUTE
