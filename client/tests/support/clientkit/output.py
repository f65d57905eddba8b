"""The comparison of outputs that differ only in ids and times."""

from __future__ import annotations

import re

_SAME = (
    # Ids and moments keep their length, so that the tables around them stay comparable.
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), lambda match: "u" * len(match[0])),
    (re.compile(r"\b[0-9a-f]{32}\b"), lambda match: "x" * len(match[0])),
    # The address of a calendar feed: its port, and its secret.
    (
        re.compile(r"//[\w.]+:\d+/v1/feeds/[\w-]{43}\.ics"),
        lambda match: "//" + "s" * len(match[0].partition("/v1")[2]),
    ),
    (
        re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?"),
        lambda match: re.sub(r"\d", "9", match[0]),
    ),
)
# 4.6 warns on every call about a command of its own, and openstacksdk about its own future.
_NOISE = re.compile(r"Could not load 'reservation_host_unset'|^DEBUG|^Matches: |Warning")


def normalize(text: str) -> str:
    """Return the text with all ids and times replaced by placeholders."""
    for pattern, same in _SAME:
        text = pattern.sub(same, text)
    return text


def relevant_lines(stderr: str) -> list[str]:
    """Return the lines of standard error that are about this command."""
    return [line for line in stderr.splitlines() if line.strip() and not _NOISE.search(line)]
