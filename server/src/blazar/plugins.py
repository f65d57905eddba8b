"""The installed kinds with their contributions, and usage filters. Only this module looks at the entry
points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg
from oslo_policy import policy
from stevedore import ExtensionManager, NamedExtensionManager

from blazar import conf as core_options
from blazar.adapters.enforcement import ExternalServiceFilter, MaxLeaseDurationFilter
from blazar.api.extension import ApiExtension
from blazar.conf import cloud, enforcement
from blazar.policies import RULES
from blazar.service.interface import INTERFACES
from blazar.service.ports.enforcement import UsageFilter
from blazar.service.ports.kind import Extension, Kind, Kinds

GROUP = "blazar.resource.plugins"
"""The entry point group of kinds."""
FILTERS = "blazar.enforcement.filters"
"""The entry point group of usage filters, beside those that come with the service."""
LONGEST_NAME = 64
"""Characters of a filter's name: the database has room for no more."""


@dataclass(frozen=True, slots=True)
class Plugins:
    """The enabled kinds by resource_type, and the extensions that they name, each once."""

    kinds: Kinds
    extensions: tuple[Extension, ...]

    @property
    def of_api(self) -> tuple[ApiExtension, ...]:
        """The extensions that have routes."""
        return tuple(each for each in self.extensions if isinstance(each, ApiExtension))

    @property
    def policies(self) -> tuple[policy.RuleDefault, ...]:
        return tuple(rule for extension in self.of_api for rule in extension.policies)

    @property
    def interfaces(self) -> Mapping[str, type]:
        """All nouns, of the core and of extensions, and their Protocols."""
        return _joined(self.extensions)


def load_plugins(conf: cfg.ConfigOpts) -> Plugins:
    """Return what ``[manager] plugins`` names, and register the options of these kinds.

    Raises LookupError where a name is unknown, or two kinds or extensions take the same name."""
    wanted = conf.manager.plugins
    found: NamedExtensionManager[Any] = NamedExtensionManager(
        GROUP, wanted, name_order=True, on_missing_entrypoints_callback=_refuse_missing
    )
    kinds: dict[str, Kind[Any]] = {}
    extensions: dict[str, Extension] = {}
    for each in found:
        made: type[Kind[Any]] = each.plugin
        for group, options in made.options.items():
            conf.register_opts(options, None if group == "DEFAULT" else group)
        kind = made.from_conf(conf)
        if kind.resource_type in kinds:
            raise LookupError(f"two of the plugins {', '.join(wanted)} serve {kind.resource_type}")
        kinds[kind.resource_type] = kind
        if made.extension is not None:
            known = extensions.setdefault(made.extension.name, made.extension.from_conf(conf))
            if type(known) is not made.extension:
                raise LookupError(f"two of the plugins {', '.join(wanted)} contribute {known.name}")
    return Plugins(kinds, tuple(extensions.values()))


def load_filters(conf: cfg.ConfigOpts) -> tuple[UsageFilter, ...]:
    """Return what ``[enforcement] enabled_filters`` names, in this order, and register the options of these
    filters.

    Raises LookupError where a name is unknown, ValueError where a filter cannot work as it is configured."""
    wanted = list(dict.fromkeys(conf.enforcement.enabled_filters))
    known = {each.__name__: each for each in (MaxLeaseDurationFilter, ExternalServiceFilter)}
    others = [name for name in wanted if name not in known]
    found: NamedExtensionManager[Any] = NamedExtensionManager(
        FILTERS, others, on_missing_entrypoints_callback=_refuse_missing_filters
    )
    classes: dict[str, type[UsageFilter]] = {**known, **{each.name: each.plugin for each in found}}
    for name in wanted:
        conf.register_opts(classes[name].options, enforcement.GROUP)
    filters = tuple(classes[name].from_conf(conf) for name in wanted)
    names = {each.name for each in filters}
    if len(names) < len(filters) or any(len(name) > LONGEST_NAME for name in names):
        raise LookupError(
            f"two of the filters {', '.join(wanted)} have the same name, or one too long a name"
        )
    return filters


def list_options(kinds: Iterable[type[Kind[Any]]]) -> list[tuple[str, Sequence[Any]]]:
    """Return the options of the core and of these kinds, by group."""
    return [*core_options.list_opts(), *((g, o) for kind in kinds for g, o in kind.options.items())]


def list_opts() -> list[tuple[str, Sequence[Any]]]:
    """Return all options, for the sample configuration and the documentation."""
    filters: ExtensionManager[Any] = ExtensionManager(FILTERS)
    contributed = [(enforcement.GROUP, each.plugin.options) for each in filters]
    return [*list_options(_installed()), *contributed, (cloud.GROUP, cloud.options_to_sign_in())]


def list_rules() -> list[policy.RuleDefault]:
    """Return the default rules of the core and of all installed kinds, for oslo.policy's generators."""
    extensions = dict.fromkeys(kind.extension for kind in _installed())
    contributed = [
        rule for each in extensions if each and issubclass(each, ApiExtension) for rule in each.policies
    ]
    return [*RULES, *contributed]


def _installed() -> list[type[Kind[Any]]]:
    """The kinds of every installed distribution; first those of this one, in the order of the default."""
    manager: ExtensionManager[Any] = ExtensionManager(GROUP)
    found: dict[str, type[Kind[Any]]] = {each.name: each.plugin for each in manager}
    shipped = [name for name in core_options.manager.SHIPPED if name in found]
    return [found[name] for name in dict.fromkeys([*shipped, *sorted(found)])]


def _joined(extensions: Iterable[Extension]) -> Mapping[str, type]:
    interfaces = dict(INTERFACES)
    for extension in extensions:
        taken = interfaces.keys() & extension.interfaces.keys()
        if taken:
            raise LookupError(
                f"{extension.name} contributes {', '.join(sorted(taken))}, which is there already"
            )
        interfaces |= extension.interfaces
    return interfaces


def _refuse_missing_filters(names: Iterable[str]) -> None:
    raise LookupError(f"[enforcement] enabled_filters: no such filter: {', '.join(sorted(names))}")


def _refuse_missing(names: Iterable[str]) -> None:
    raise LookupError(f"no such resource plugin: {', '.join(sorted(names))}")
