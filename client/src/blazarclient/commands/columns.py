"""The option of the column to sort a list by."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from blazarclient.parsing.errors import nearest


def sort_column_action(columns: Sequence[str]) -> type[argparse.Action]:
    """Return an argparse action that accepts these columns, and suggests the nearest for another word."""

    class SortColumn(argparse.Action):
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

    return SortColumn
