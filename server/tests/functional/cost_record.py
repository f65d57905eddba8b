"""The recorded costs of operations: a table that people read, and how it is compared with what is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from .counting import Tally

Costs = Mapping[str, Sequence[Tally]]
"""The tallies of each operation, one for each size."""
Cells = Mapping[str, Mapping[str, Sequence[str]]]
"""The words of the record: for each operation and column one for each size."""

COLUMNS = {
    "statements": "statements",
    "rows_read": "rows read",
    "rows_written": "rows written",
    "cloud_calls": "cloud calls",
    "cloud_bytes": "bytes to and from the cloud",
    "messages": "messages",
    "message_bytes": "bytes in messages",
    "answer_bytes": "bytes of the answer",
}
WORK = "work of SQLite"
HEAD = ("operation", *COLUMNS.values(), WORK, "what it grows with")
BYTES, BYTES_OF_SIZES = 0.05, 0.1
"""By so much may bytes differ from the record, and from size to size: some words have no fixed length."""
GROWS, SAME = "grows", "-"


def grows(steps: Sequence[int]) -> Sequence[str]:
    """Return in which sizes SQLite has clearly more to do than in the first. How many steps it takes differs
    from version to version, so that they are not recorded."""
    return [GROWS if each > steps[0] * 2 + 60 else SAME for each in steps]


def cells(costs: Costs) -> Cells:
    found = {}
    for operation, tallies in costs.items():
        row: dict[str, Sequence[str]] = {
            name: [str(tally.counts[key]) for tally in tallies] for key, name in COLUMNS.items()
        }
        found[operation] = {**row, WORK: grows([tally.counts["steps"] for tally in tallies])}
    return found


def rendered(found: Cells, reasons: Mapping[str, str]) -> str:
    rows = [HEAD, ["---"] * len(HEAD)]
    for operation, row in found.items():
        rows.append([operation, *map(_cell, row.values()), reasons.get(operation, "")])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def parsed(text: str, sizes: int) -> Cells:
    found = {}
    for line in re.findall(r"^\| (.*?) *\|$", text, re.MULTILINE)[2:]:
        operation, *words = (word.strip() for word in line.split("|"))
        columns = zip((*COLUMNS.values(), WORK), words, strict=False)
        found[operation] = {name: _words(word, sizes) for name, word in columns}
    return found


def differences(recorded: Cells, costs: Costs, sizes: Sequence[object]) -> Iterator[str]:
    """Yield a sentence for each number that is not as it is recorded."""
    now = cells(costs)
    for operation in [*now, *(recorded.keys() - now.keys())]:
        if operation not in now or operation not in recorded:
            yield f"{operation}: is {'recorded' if operation in recorded else 'measured'} only"
            continue
        for name, words in now[operation].items():
            for size, before, after, tally in zip(
                sizes, recorded[operation][name], words, costs[operation], strict=True
            ):
                if not _same(name, before, after):
                    verb = "falls" if _number(after) < _number(before) else "grows"
                    yield (
                        f"{operation}: {name} {verb}: recorded {before}, now {after}, with {size}. "
                        f"It sent: {_told(tally)}"
                    )


def growth(found: Cells, reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each operation that grows from size to size without a reason, or has a reason and
    does not grow."""
    for operation, row in found.items():
        grown = [
            n
            for n, words in row.items()
            if not all(_same(n, words[0], each, BYTES_OF_SIZES) for each in words)
        ]
        if grown and operation not in reasons:
            yield f"{operation}: it is not said what these grow with: {', '.join(grown)}"
        if operation in reasons and not grown:
            yield f"{operation}: it grows with nothing any more"


def grows_with_over(found: Cells) -> Iterator[str]:
    """Yield a sentence for each operation that costs more in the second size than in the first. No reason is
    good enough: the second has nothing more but leases that are over."""
    for operation, row in found.items():
        grown = [n for n, words in row.items() if not _same(n, *words[:2], BYTES_OF_SIZES)]
        if grown:
            yield f"{operation}: it grows with what is over: {', '.join(grown)}"


def _cell(words: Sequence[str]) -> str:
    return words[0] if len(set(words)) == 1 else " / ".join(words)


def _words(cell: str, sizes: int) -> Sequence[str]:
    words = cell.split(" / ")
    return words * sizes if len(words) == 1 else words


def _all_same(name: str, words: Sequence[str]) -> bool:
    return all(_same(name, words[0], each, BYTES_OF_SIZES) for each in words)


def _same(name: str, before: str, after: str, of_bytes: float = BYTES) -> bool:
    if "bytes" in name:
        return abs(int(before) - int(after)) <= of_bytes * int(before)
    return before == after


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else int(word == GROWS)


def _told(tally: Tally) -> str:
    return ", ".join(f"{number} x {part}" for part, number in tally.parts.most_common())
