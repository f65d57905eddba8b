"""What a log says of unexpected failures.

Libraries log a traceback of what the service copes with: oslo.messaging refuses a call that is delivered
twice to one manager, and acknowledges an answer on a connection that was cut, and the pool gives up a
connection that was lost as it came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

REFUSED_BY_OSLO, POOL = "ignoring duplicate message", "sqlalchemy.pool"
UNANSWERED = "Failed to process message ... skipping it."
ACKNOWLEDGING = (
    ("oslo_messaging/_drivers/impl_rabbit.py", "_callback"),
    ("oslo_messaging/_drivers/amqpdriver.py", "__call__"),
    ("oslo_messaging/_drivers/impl_rabbit.py", "acknowledge"),
)
"""The first frames, each by module and function, of an answer that cannot be acknowledged: the broker
delivers it again on the next connection."""
FRAME = re.compile(r'  File ".*/([^/]+/[^/]+/[^/]+\.py)", line \d+, in (\w+)$')
UNFORESEEN = "failed unexpectedly"
REQUEST_ID = re.compile(r"req-[0-9a-f-]{36}")
LONGEST = 400
"""Lines of a traceback that are looked at."""


def defects(log: str) -> list[str]:
    """Return the lines about unexpected failures."""
    lines = log.splitlines()
    return [line for number, line in enumerate(lines) if _is_defect(lines, number)]


def told_about(log: str, answers: Sequence[str]) -> str:
    """Return the failures of the requests that these answers name, each with what follows it in the log."""
    lines, ids = log.splitlines(), {found for answer in answers for found in REQUEST_ID.findall(answer)}
    found = (
        lines[number : number + LONGEST]
        for number, line in enumerate(lines)
        if UNFORESEEN in line and not ids.isdisjoint(REQUEST_ID.findall(line))
    )
    return "\n".join(line for failure in found for line in failure)


def _is_defect(lines: Sequence[str], number: int) -> bool:
    line, before = lines[number], lines[number - 1] if number else ""
    if UNFORESEEN in line:
        return True
    if "Traceback" not in line or REFUSED_BY_OSLO in before or POOL in line:
        return False
    return UNANSWERED not in before or _frames(lines, number) != ACKNOWLEDGING


def _frames(lines: Sequence[str], number: int) -> tuple[tuple[str, str], ...]:
    """Return the first frames of the traceback that begins at this line, each by module and function."""
    prefix = lines[number].partition("Traceback")[0]
    found = (
        match.groups()
        for line in lines[number + 1 : number + LONGEST]
        if line.startswith(prefix) and (match := FRAME.match(line.removeprefix(prefix)))
    )
    return tuple((module, function) for module, function in islice(found, len(ACKNOWLEDGING)))
