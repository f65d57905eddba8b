"""What the documentation takes from the code itself: a lease's transitions, the policies, the client's
kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from blazar.domain.lease.lease import TRANSITIONS
from blazar.plugins import list_rules
from blazarclient.kinds.fields import Field
from blazarclient.kinds.registry import installed_kinds


class Transitions(Directive):
    """``{lease-transitions}``: from each status to those that may follow."""

    def run(self) -> list[nodes.Node]:
        rows = [(str(old), ", ".join(sorted(new)) or "(gone)") for old, new in TRANSITIONS.items()]
        return [table((1, 4), ("from", "to"), rows)]


class Policies(Directive):
    """``{policies}``: each rule with its default and what it protects."""

    def run(self) -> list[nodes.Node]:
        rows = [(rule.name, rule.check_str, rule.description or "") for rule in list_rules()]
        return [table((3, 3, 4), ("rule", "default", "what for"), rows)]


class ClientKinds(Directive):
    """``{client-kinds}``: the keys that the client knows for reservations of each kind."""

    def run(self) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for kind in installed_kinds():
            line = nodes.paragraph()
            line += [nodes.literal(text=f"resource_type={kind.resource_type}"), nodes.Text(f": {kind.help}")]
            rows = [(item.name, _need(item), item.help) for item in kind.fields]
            shown += [line, table((3, 2, 6), ("key", "needed", "what it is"), rows)]
        return shown


def _need(item: Field) -> str:
    if item.required:
        return "yes"
    return f"no; {item.default}" if item.default not in (None, "", []) else "no"


def table(
    widths: tuple[int, ...], head: tuple[str, ...], rows: Sequence[Sequence[str | nodes.Node]]
) -> nodes.table:
    """Return a table; a cell is text, or a node."""
    made = nodes.table()
    group = nodes.tgroup(cols=len(widths))
    made += group
    for width in widths:
        group += nodes.colspec(colwidth=width)
    group += nodes.thead("", _row(*head))
    group += nodes.tbody("", *(_row(*row) for row in rows))
    return made


def _row(*cells: str | nodes.Node) -> nodes.row:
    return nodes.row("", *(nodes.entry("", _paragraph(cell)) for cell in cells))


def _paragraph(cell: str | nodes.Node) -> nodes.paragraph:
    return nodes.paragraph(text=cell) if isinstance(cell, str) else nodes.paragraph("", "", cell)


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("lease-transitions", Transitions)
    app.add_directive("policies", Policies)
    app.add_directive("client-kinds", ClientKinds)
    return {"parallel_read_safe": True}
