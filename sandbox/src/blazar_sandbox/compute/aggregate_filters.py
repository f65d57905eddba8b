"""The scheduler filters that compare a host's aggregates with flavor and project.

They are AggregateInstanceExtraSpecsFilter and AggregateMultiTenancyIsolation, as Nova's documentation states
them.
"""

import operator
from collections.abc import Callable, Iterable, Mapping

from blazar_sandbox.compute.model import Aggregate

_SCOPE = "aggregate_instance_extra_specs"
_TENANT_KEY = "filter_tenant_id"


def _number(compare: Callable[[float, float], bool]) -> Callable[[str, str], bool]:
    def compared(value: str, wanted: str) -> bool:
        try:
            return compare(float(value), float(wanted))
        except ValueError:
            return False

    return compared


_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "=": _number(operator.ge),
    "==": _number(operator.eq),
    "!=": _number(operator.ne),
    ">=": _number(operator.ge),
    "<=": _number(operator.le),
    "s==": operator.eq,
    "s!=": operator.ne,
    "s<": operator.lt,
    "s<=": operator.le,
    "s>": operator.gt,
    "s>=": operator.ge,
    "<in>": lambda value, wanted: wanted in value,
    "<all-in>": lambda value, wanted: all(word in value for word in wanted.split()),
    "<or>": lambda value, wanted: value in [word.strip() for word in wanted.split("<or>")],
}


def matches(value: str, demand: str) -> bool:
    """Return whether a value matches a demand such as ``>= 4`` or ``<or> a <or> b``."""
    word, _, rest = demand.strip().partition(" ")
    compare = _OPERATORS.get(word)
    if compare is None:
        return value == demand
    return compare(value, rest.strip())


def _merged(rows: Iterable[Aggregate]) -> dict[str, set[str]]:
    """Merge the metadata of several aggregates; commas separate the values of a key."""
    merged: dict[str, set[str]] = {}
    for row in rows:
        for key, value in row.metadata.items():
            merged.setdefault(key, set()).update(item.strip() for item in value.split(","))
    return merged


def aggregate_matches_specs(rows: Iterable[Aggregate], specs: Mapping[str, str]) -> bool:
    """Return whether the metadata match every extra spec that is unscoped or scoped to aggregates."""
    demands = {}
    for key, demand in specs.items():
        scope, _, name = key.rpartition(":")
        if scope in ("", _SCOPE):
            demands[name] = demand
    if not demands:
        return True
    merged = _merged(rows)
    return all(
        any(matches(value, demand) for value in merged.get(key, ())) for key, demand in demands.items()
    )


def aggregate_allows_tenant(rows: Iterable[Aggregate], project_id: str) -> bool:
    """Return whether the aggregates admit a project: they name it, or name no project at all."""
    kept_for = {
        tenant.strip()
        for row in rows
        for key, value in row.metadata.items()
        if key.startswith(_TENANT_KEY)
        for tenant in value.split(",")
    }
    return not kept_for or project_id in kept_for
