"""Tests of the conversion of Nova's objects, and of the options."""

from dataclasses import dataclass, field

from oslo_config import cfg

from blazarnova import nova_objects, options, rule


@dataclass
class Flavor:
    extra_specs: dict[str, str] | None = None


@dataclass
class Spec:
    project_id: str = "p1"
    flavor: Flavor = field(default_factory=Flavor)
    hints: dict[str, str | list[str]] = field(default_factory=dict)
    instance_uuid: str | None = None

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


def test_aggregates_keep_zone_and_metadata() -> None:
    aggregate = rule.Aggregate("r1", "blazar_r1", {"blazar:owner": "p1"})
    assert nova_objects.aggregates_of(HostState("h1", [aggregate])) == [aggregate]


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
    assert options.settings_from(conf) == rule.Settings(allow_preemptibles=True, preemptible_aggregate="spot")
