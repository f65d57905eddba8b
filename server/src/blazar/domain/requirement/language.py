"""The requirement language: conditions on the properties of a resource, parsed and evaluated.

::

    requirement := "" | "[]" | null | expr
    expr        := [] | [OP, "$NAME", VALUE] | ["in", "$NAME", VALUE, ...]
                 | ["and", expr, ...] | ["or", expr, ...] | ["not", expr]
    OP          := "==" | "=" | "!=" | "<" | ">" | "<=" | ">="
    VALUE       := a JSON string that is not empty, a number, true or false

The empty requirement is satisfied by every resource. A resource without the property satisfies no comparison
with it, not even ``!=``. ``not`` is the plain complement of its operand, so ``["not", ["==", "$gpu",
"A100"]]`` is also satisfied by resources that have no such property."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from blazar.domain.errors import MalformedRequirements
from blazar.domain.requirement.comparison import Operator, Term, holds, term_of
from blazar.domain.resource import PropertyValue

MAX_LENGTH = 16384
"""Characters of the text, or of all strings in a list."""
MAX_DEPTH = 32
"""Lists in lists."""
MAX_NODES = 512
"""JSON values, lists included; a comparison has four."""
MAX_NUMBER = 1e300

Mask = npt.NDArray[np.bool_]

_OPERATORS = {"=": Operator.EQUAL, **{str(how): how for how in Operator}}
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]]', re.DOTALL)


class PropertyColumns(Protocol):
    """The properties of many resources, one column each."""

    def compare(self, name: str, how: Operator, literals: tuple[Term, ...]) -> Mask:
        """Return for each resource whether it has the property and the comparison holds with any of the
        literals."""
        ...

    def all(self) -> Mask:
        """True for each resource."""
        ...


class Expression(Protocol):
    """A node of the tree."""

    @property
    def names(self) -> frozenset[str]: ...

    @property
    def passes(self) -> int: ...

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool: ...

    def mask(self, columns: PropertyColumns) -> Mask: ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """The property stands in this relation to any of the literals (several only for ``in``)."""

    name: str
    how: Operator
    literals: tuple[Term, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.name})

    @property
    def passes(self) -> int:
        return 1 + len(self.literals) // 4

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool:
        value = properties.get(self.name)
        return value is not None and any(
            holds(self.how, term_of(value), literal) for literal in self.literals
        )

    def mask(self, columns: PropertyColumns) -> Mask:
        return columns.compare(self.name, self.how, self.literals)


@dataclass(frozen=True, slots=True)
class Every:
    """All operands hold; it is true without operands."""

    operands: tuple[Expression, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(operand.names for operand in self.operands))

    @property
    def passes(self) -> int:
        return sum(operand.passes for operand in self.operands)

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool:
        return all(operand.matches(properties) for operand in self.operands)

    def mask(self, columns: PropertyColumns) -> Mask:
        return reduce(np.logical_and, (operand.mask(columns) for operand in self.operands), columns.all())


@dataclass(frozen=True, slots=True)
class Either:
    """At least one operand holds."""

    operands: tuple[Expression, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(operand.names for operand in self.operands))

    @property
    def passes(self) -> int:
        return sum(operand.passes for operand in self.operands)

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool:
        return any(operand.matches(properties) for operand in self.operands)

    def mask(self, columns: PropertyColumns) -> Mask:
        return reduce(np.logical_or, (operand.mask(columns) for operand in self.operands))


@dataclass(frozen=True, slots=True)
class Not:
    """The operand does not hold."""

    operand: Expression

    @property
    def names(self) -> frozenset[str]:
        return self.operand.names

    @property
    def passes(self) -> int:
        return self.operand.passes

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool:
        return not self.operand.matches(properties)

    def mask(self, columns: PropertyColumns) -> Mask:
        return np.logical_not(self.operand.mask(columns))


@dataclass(frozen=True, slots=True)
class Requirement:
    """A parsed requirement. It is a value: two that read the same are equal."""

    root: Expression

    @property
    def names(self) -> frozenset[str]:
        """Return the properties that it compares."""
        return self.root.names

    @property
    def passes(self) -> int:
        """Return the cost of ``mask``, in passes over the resources."""
        return self.root.passes

    def matches(self, properties: Mapping[str, PropertyValue]) -> bool:
        """Return whether a resource with these properties satisfies it. A property that is None counts as
        missing."""
        return self.root.matches(properties)

    def mask(self, columns: PropertyColumns) -> Mask:
        """Return for many resources at once whether they satisfy it."""
        return self.root.mask(columns)

    @property
    def parts(self) -> tuple[Requirement, ...]:
        """Return the conditions that all have to hold, each by itself."""
        return tuple(map(Requirement, _flat(self.root)))

    @property
    def text(self) -> str:
        """Return it as a request may state it."""
        return json.dumps(_written(self.root))

    def joined(self, other: Requirement) -> Requirement:
        """Return the requirement that asks for both this and the other one."""
        if other == ANYTHING:
            return self
        return other if self == ANYTHING else Requirement(Every((self.root, other.root)))


ANYTHING = Requirement(Every())
"""The empty requirement."""


def every(parts: Sequence[Requirement]) -> Requirement:
    """Return the requirement that asks for all of these."""
    if len(parts) == 1:
        return parts[0]
    return Requirement(Every(tuple(part.root for part in parts)))


def _flat(root: Expression) -> Iterator[Expression]:
    if isinstance(root, Every):
        for operand in root.operands:
            yield from _flat(operand)
    else:
        yield root


def _written(node: Expression) -> list[Any]:
    match node:
        case Comparison(name, how, (literal,)):
            return [str(how), f"${name}", literal.text]
        case Comparison(name, _, literals):
            return ["in", f"${name}", *(each.text for each in literals)]
        case Not(operand):
            return ["not", _written(operand)]
        case Either(operands):
            return ["or", *map(_written, operands)]
        case Every(operands):
            return ["and", *map(_written, operands)] if operands else []
    raise TypeError(f"no expression: {node!r}")


def parse(value: str | list[Any] | None) -> Requirement:
    """Return the requirement that a request states, as JSON text or as the list itself.

    The time is in proportion to the length; texts that were parsed lately are known. Raises
    MalformedRequirements, also where it exceeds a bound.
    """
    try:
        return _parsed_text(value) if isinstance(value, str) else _parsed(value)
    except _Malformed as error:
        raise MalformedRequirements(requirements=_shortened(value), reason=str(error)) from None


@lru_cache(maxsize=256)
def _parsed_text(text: str) -> Requirement:
    return _parsed(_load(text))


def _parsed(tree: Any) -> Requirement:
    if tree is None:
        return ANYTHING
    _check_bounds(tree)
    return Requirement(_expression(tree))


class _Malformed(Exception):
    """A sentence that says where the text leaves the grammar. It is raised and caught in this module only."""


def _load(text: str) -> Any:
    if not text.strip():
        return None
    if len(text) > MAX_LENGTH:
        raise _Malformed(f"it is longer than {MAX_LENGTH} characters.")
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += {"[": 1, "]": -1}.get(token[0], 0)
        if depth > MAX_DEPTH:
            raise _too_deep()
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        # RecursionError: braces, which no requirement has, are not counted above.
        raise _Malformed("it is not JSON.") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _too_deep() -> _Malformed:
    return _Malformed(f"it is nested deeper than {MAX_DEPTH} levels.")


def _check_bounds(tree: Any) -> None:
    """Walk without recursion, so that no nesting can exhaust the stack, not even a list inside itself."""
    nodes = length = 0
    pending = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        nodes += 1
        if isinstance(node, list):
            if depth > MAX_DEPTH:
                raise _too_deep()
            nodes += 0 if len(node) <= MAX_NODES else len(node)
            pending.extend((child, depth + 1) for child in node[: MAX_NODES + 1])
        elif isinstance(node, str):
            length += len(node)
        if nodes > MAX_NODES:
            raise _Malformed(f"it has more than {MAX_NODES} parts.")
    if length > MAX_LENGTH:
        raise _Malformed(f"it is longer than {MAX_LENGTH} characters.")


def _expression(node: Any) -> Expression:
    if node in ("", []):
        return ANYTHING.root
    if not isinstance(node, list) or not isinstance(node[0], str):
        raise _Malformed('a condition is a list such as [">=", "$vcpus", "4"].')
    word, operands = node[0], node[1:]
    match word:
        case "and" | "or":
            if not operands:
                raise _Malformed(f'"{word}" needs at least one condition.')
            parsed = tuple(_expression(operand) for operand in operands)
            if len(parsed) == 1:
                return parsed[0]
            return Every(parsed) if word == "and" else Either(parsed)
        case "not":
            if len(operands) != 1:
                raise _Malformed('"not" needs exactly one condition.')
            return Not(_expression(operands[0]))
        case "in":
            return _membership(operands)
    if word not in _OPERATORS:
        raise _Malformed(f"{_quoted(word)} is no operator.")
    if len(operands) != 2:
        raise _Malformed(f'"{word}" needs a property and one value.')
    return Comparison(_name(operands[0]), _OPERATORS[word], (_literal(operands[1]),))


def _membership(operands: list[Any]) -> Expression:
    literals = operands[1] if len(operands) == 2 and isinstance(operands[1], list) else operands[1:]
    if not literals:
        raise _Malformed('"in" needs a property and at least one value.')
    return Comparison(_name(operands[0]), Operator.EQUAL, tuple(map(_literal, literals)))


def _name(node: Any) -> str:
    if not isinstance(node, str) or len(node) < 2 or node[0] != "$":
        raise _Malformed(f'{_quoted(node)} is no property: it is written as "$" and its name.')
    return node[1:]


def _literal(node: Any) -> Term:
    if isinstance(node, int | float) and not abs(node) <= MAX_NUMBER:
        raise _Malformed("a number is out of range.")
    if not isinstance(node, str | int | float) or node == "":
        raise _Malformed(f"{_quoted(node)} is no value: it must be a text, a number, true or false.")
    return term_of(node)


def _quoted(node: Any) -> str:
    return json.dumps(node[:40]) if isinstance(node, str) else reprlib.repr(node)


def _shortened(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else reprlib.repr(value)
    except ValueError:
        # An integer with more digits than Python agrees to write.
        text = "(too large to show)"
    return text if len(text) <= 200 else text[:200] + "..."
