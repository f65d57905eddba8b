"""Is this a column that a list can be sorted by?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.reading.errors import nearest


def sort_key_action(columns: Sequence[str]) -> type[argparse.Action]:
    """An argparse action that takes one of these columns, and names the nearest one otherwise."""

    class SortKey(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: Any,
            option_string: str | None = None,
        ) -> None:
            if values not in columns:
                guess = nearest(values, columns)
                hint = f"did you mean {guess}? " if guess else ""
                parser.error(f"Invalid sort option {values}: {hint}one of {', '.join(columns)}")
            setattr(namespace, self.dest, values)

    return SortKey
