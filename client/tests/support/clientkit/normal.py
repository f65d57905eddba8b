"""When are two outputs the same? When they differ in nothing but ids and moments."""

from __future__ import annotations

import re

_SAME = (
    # Ids and moments keep their length, so that the tables around them stay comparable.
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), lambda match: "u" * len(match[0])),
    (re.compile(r"\b[0-9a-f]{32}\b"), lambda match: "x" * len(match[0])),
    (
        re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?"),
        lambda match: re.sub(r"\d", "9", match[0]),
    ),
)
# 4.6 complains on every call about a command of its own; openstacksdk's warnings are nobody's.
_NOISE = re.compile(r"Could not load 'reservation_host_unset'|^DEBUG|^Matches: |Warning")


def normal(text: str) -> str:
    """The text with ids and moments made equal."""
    for pattern, same in _SAME:
        text = pattern.sub(same, text)
    return text


def complaints(stderr: str) -> list[str]:
    """The lines of standard error that say something about this command."""
    return [line for line in stderr.splitlines() if line.strip() and not _NOISE.search(line)]
