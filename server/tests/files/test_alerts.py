"""Do the alerts and the dashboard ask for metrics and labels that are there, and are they explained?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from blazar.adapters.metrics import PrometheusMetrics
from blazar.service.health import ManagerHealth, ThreadHealth, ThreadState

from .test_deployment_files import PORTS
from .test_operator_pages import page, shown

DEPLOY = Path(__file__).parents[3] / "deploy"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus/blazar.rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((DEPLOY / "grafana/blazar.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUESTIONS = [(rule["alert"], rule["expr"]) for rule in RULES] + [
    (panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]
]
OF_PROMETHEUS = frozenset({"job", "instance"})
"""The labels that Prometheus adds to each metric that it reads."""
METHODS: dict[str, tuple[Any, ...]] = {
    "request_answered": ("GET", "/v1/leases", 200, 0.1),
    "use_case_called": ("leases.get", "ok", 0.1),
    "planned": ("none", 0.1),
    "quota_exceeded": ("hosts",),
    "plan_conflicted": (),
    "transaction_retried": (),
    "event_run": ("start_lease", "ok", 0.1, 0.1),
    "claims_held": (1,),
    "claim_lost": (),
    "notifications_delivered": (1,),
    "cloud_called": ("Nova", "GET", "200", 0.1),
    "usage_filter_asked": ("filter", "check_create", "ok", 0.1),
    "reports_waiting": (1,),
    "hosts_seen": (1, 1, True),
    "healed": (1, 1),
    "displaced": (1, 1),
    "replanned": (1,),
    "lease_released": (),
    "line_seen": (1, 60.0),
    "webhook_sent": ("ok", 0.1),
    "webhooks_waiting": (1, 1),
    "mails_settled": ("sent", 1),
    "mails_waiting": (1,),
    "streams_open": (1,),
    "images_removed": (1,),
    "hosts_lent": (1, 1, 1),
    "drift_seen": ({"flavor": 1}, datetime(2030, 1, 1, tzinfo=UTC)),
}


def labels() -> dict[str, set[str]]:
    """Return the labels of each sample that a manager and an API show after each thing has happened once."""
    metrics = PrometheusMetrics()
    for method, arguments in METHODS.items():
        getattr(metrics, method)(*arguments)
    health = ManagerHealth(0.0, 0, threads=(ThreadHealth("relay", ThreadState.OK, 0.0),))
    metrics.show_health(lambda: health, lambda: health.threads)
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.exposition()[1].decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


LABELS = labels()


def selectors(node: Any) -> Iterator[Any]:
    """Return what an expression selects."""
    if isinstance(node, promql.VectorSelector):
        yield node
    for name in ("lhs", "rhs", "expr", "vector_selector", "vs"):
        if (part := getattr(node, name, None)) is not None:
            yield from selectors(part)
    for part in getattr(node, "args", ()) or ():
        yield from selectors(part)


def parsed(expression: str) -> Any:
    return promql.parse(expression.replace("$__rate_interval", "5m"))


def test_each_thing_that_is_told_has_happened_here() -> None:
    own = {name for name in vars(PrometheusMetrics) if not name.startswith("_")}
    assert own - {"exposition", "show_health"} == METHODS.keys()


@pytest.mark.parametrize(("name", "expression"), QUESTIONS)
def test_each_metric_that_is_asked_for_is_there(name: str, expression: str) -> None:
    found = list(selectors(parsed(expression)))
    assert found, name
    for selector in found:
        if selector.name == "up":
            continue
        assert selector.name in LABELS, f"{name}: {selector.name}"
        asked = {matcher.name for matcher in selector.matchers.matchers}
        assert asked <= LABELS[selector.name] | OF_PROMETHEUS, name


@pytest.mark.parametrize(("name", "expression"), QUESTIONS)
def test_each_label_by_which_something_is_grouped_is_there(name: str, expression: str) -> None:
    known = OF_PROMETHEUS.union(*(LABELS.get(each.name, ()) for each in selectors(parsed(expression))))
    for words in re.findall(r"\bby \(([^)]*)\)", expression):
        assert set(re.split(r", *", words)) <= known, name


def test_an_expression_that_makes_no_sense_is_found() -> None:
    with pytest.raises(ValueError, match="unclosed"):
        parsed("sum(rate(blazar_events_total[5m])")
    assert [each.name for each in selectors(parsed("sum(rate(a[5m])) / (b > 1) + -c or vector(0)"))] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_each_alert_tells_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]
    assert f"| `{rule['alert']}` | {rule['labels']['severity']} |" in page("monitoring")


def test_no_alert_is_explained_that_is_not_there() -> None:
    named = set(re.findall(r"`(Blazar[A-Za-z]+)`", page("monitoring")))
    assert named == {rule["alert"] for rule in RULES}
    assert len(RULES) == len(named)


def test_the_dashboard_shows_every_metric() -> None:
    families = {name.removesuffix("_total") for name in shown() if not name.endswith("_created")}
    questions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    asked = {each.name for question in questions for each in selectors(parsed(question))}
    for name in families:
        assert any(re.fullmatch(f"{name}(_total|_bucket|_count|_sum)?", each) for each in asked), name


def test_panels_lie_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_prometheus_reads_the_rules_and_the_jobs_that_they_name() -> None:
    scrape = yaml.safe_load((DEPLOY / "prometheus/scrape.yaml").read_text())
    assert [(DEPLOY / "prometheus" / name).is_file() for name in scrape["rule_files"]] == [True]
    ports = {
        job["job_name"]: {int(target.rpartition(":")[2]) for target in job["static_configs"][0]["targets"]}
        for job in scrape["scrape_configs"]
    }
    assert ports == {name: {PORTS[name]} for name in ("blazar-api", "blazar-manager", "blazar-webhooks")}
    (down,) = (rule["expr"] for rule in RULES if rule["alert"] == "BlazarProgramDown")
    assert set(re.findall(r"blazar-\w+", down)) == ports.keys()
