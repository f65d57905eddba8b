"""Tests of the conversion of Nova's objects, and of the options."""

import importlib
import sys
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from oslo_config import cfg

from blazarnova import bounded, nova_objects, options, rule


@dataclass
class Flavor:
    extra_specs: dict[str, str] | None = None
    vcpus: int = 2
    memory_mb: int = 2048
    root_gb: int = 10
    ephemeral_gb: int = 0
    swap: int = 0


@dataclass
class Spec:
    project_id: str = "p1"
    flavor: Flavor = field(default_factory=Flavor)
    hints: dict[str, str | list[str]] = field(default_factory=dict)
    instance_uuid: str | None = None
    num_instances: int = 1

    def get_scheduler_hint(self, hint_name: str) -> str | list[str] | None:
        return self.hints.get(hint_name)


@dataclass
class HostState:
    host: str
    aggregates: list[rule.Aggregate]


def test_request_without_hints_or_specs() -> None:
    assert nova_objects.request_spec_of(Spec()) == rule.RequestSpec("p1")


def test_request_with_hint_and_specs() -> None:
    spec = Spec(flavor=Flavor({"blazar:preemptible": "yes"}), hints={"reservation": ["r1", "r2"]})
    assert nova_objects.request_spec_of(spec) == rule.RequestSpec(
        "p1", frozenset({"r1", "r2"}), {"blazar:preemptible": "yes"}
    )


def test_the_server_of_a_request() -> None:
    assert nova_objects.request_spec_of(Spec(instance_uuid="s1")) == rule.RequestSpec("p1", server_id="s1")


def test_a_server_with_a_known_end() -> None:
    hint = {"lease_params": ['{"name": "x", "duration": 1}']}
    server = nova_objects.bounded_server_of(Spec(hints=hint, instance_uuid="s1", num_instances=3), 0)
    amounts = {"VCPU": 6, "MEMORY_MB": 6144, "DISK_GB": 30}
    assert server == bounded.BoundedServer(120, amounts, bounded.lease_id_of("s1"))
    assert nova_objects.bounded_server_of(Spec(), 0) is None
    unclear = Spec(hints={"lease_params": ["{}"]}, flavor=Flavor({"hw:x": "1"}), instance_uuid="s1")
    known = bounded.BoundedServer(None, None, bounded.lease_id_of("s1"))
    assert nova_objects.bounded_server_of(unclear, 0) == known


def test_a_request_is_converted_once_for_all_hosts() -> None:
    hint = {"lease_params": ['{"name": "x", "duration": 1}']}
    servers, spec = nova_objects.BoundedServers(), Spec(hints=hint)
    first = servers.of(spec, 0)
    assert first is not None
    assert servers.of(spec, 0) is first
    assert servers.of(spec, 60) != first
    assert servers.of(Spec(), 60) is None


def test_aggregates_keep_zone_and_metadata() -> None:
    aggregate = rule.Aggregate("r1", "blazar_r1", {"blazar:owner": "p1"})
    assert nova_objects.aggregates_of(HostState("h1", [aggregate])) == [aggregate]


@pytest.mark.parametrize(
    ("project", "hints", "metadata", "weight"),
    [
        ("p1", {}, {"blazar:match": "open"}, 1.0),
        ("p1", {}, {}, 0.0),
        ("p2", {}, {"blazar:match": "open"}, 0.0),
        ("p1", {"reservation": ["r1"]}, {"blazar:match": "open"}, 0.0),
    ],
    ids=["its own open reservation", "not open", "another project's", "with a hint all hosts are alike"],
)
def test_weights(project: str, hints: dict[str, Any], metadata: dict[str, str], weight: float) -> None:
    aggregate = rule.Aggregate("r1", "blazar_r1", {"blazar:owner": "p1", **metadata})
    found = nova_objects.weight_of(HostState("h1", [aggregate]), Spec(project, hints=hints), rule.Settings())
    assert found == weight


@pytest.mark.parametrize(("match", "weight"), [("open", 0.5), ("explicit", -0.5)])
def test_hosts_that_are_lent_weigh_less(match: str, weight: float) -> None:
    reserved = rule.Aggregate("r1", "blazar_r1", {"blazar:owner": "p1", "blazar:match": match})
    host = HostState("h1", [reserved, rule.Aggregate("lent", metadata={"r1": "1"})])
    assert nova_objects.weight_of(host, Spec("p1"), rule.Settings()) == weight


def test_an_ordinary_host_weighs_nothing() -> None:
    assert nova_objects.weight_of(HostState("h1", []), Spec(), rule.Settings()) == 0.0


def test_the_multiplier_of_the_weigher() -> None:
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([])
    assert options.match_weight_multiplier(conf) == 1000.0
    conf.set_override("match_weight_multiplier", 2.5, group=options.GROUP.name)
    assert options.match_weight_multiplier(conf) == 2.5


def test_settings_default_to_those_of_the_rule() -> None:
    conf = cfg.ConfigOpts()
    options.register(conf)
    options.register(conf)  # nova-scheduler may import the module twice
    conf([])
    assert options.settings_from(conf) == rule.Settings()


def test_settings_are_read_at_each_request() -> None:
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf([])
    conf.set_override("allow_preemptibles", True, group=options.GROUP.name)
    conf.set_override("preemptible_aggregate", "spot", group=options.GROUP.name)
    conf.set_override("lent_aggregate_name", "idle", group=options.GROUP.name)
    expected = rule.Settings(allow_preemptibles=True, preemptible_aggregate="spot", lent_aggregate="idle")
    assert options.settings_from(conf) == expected


def test_nova_tells_apart_what_the_weigher_weighs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nova cuts a weight off at the weigher's bounds, makes these 0 and 1, and multiplies."""
    conf = cfg.ConfigOpts()
    nova, nova_conf, weights = (ModuleType(name) for name in ("nova", "nova.conf", "nova.scheduler.weights"))
    nova_conf.CONF = conf  # type: ignore[attr-defined]
    nova.conf = nova_conf  # type: ignore[attr-defined]
    weights.BaseHostWeigher = object  # type: ignore[attr-defined]
    scheduler = ModuleType("nova.scheduler")
    scheduler.weights = weights  # type: ignore[attr-defined]
    for module in (nova, nova_conf, scheduler, weights):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.delitem(sys.modules, "blazarnova.scheduler.weights.reservation", raising=False)
    weigher = importlib.import_module("blazarnova.scheduler.weights.reservation").ReservationWeigher()
    conf([])
    # All configurations share what tests override.
    conf.set_override("match_weight_multiplier", 1000.0, group=options.GROUP.name)
    conf.set_override("lent_aggregate_name", "lent", group=options.GROUP.name)

    def weight(match: str, is_lent: bool) -> float:
        reserved = rule.Aggregate("r1", "blazar_r1", {"blazar:owner": "p1", "blazar:match": match})
        lent = [rule.Aggregate("lent", metadata={"r1": "1"})] if is_lent else []
        host = HostState("h1", [reserved, *lent])
        cut = min(max(weigher._weigh_object(host, Spec("p1")), weigher.minval), weigher.maxval)
        return float(
            (cut - weigher.minval) / (weigher.maxval - weigher.minval) * weigher.weight_multiplier(host)
        )

    ordinary = weight("explicit", is_lent=False)
    found = [weight(match, is_lent) - ordinary for match in ("open", "explicit") for is_lent in (False, True)]
    assert found == pytest.approx([1000, 500, 0, -500])
    sys.modules.pop("blazarnova.scheduler.weights.reservation")
