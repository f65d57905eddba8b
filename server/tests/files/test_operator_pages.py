"""Is what the operator's pages promise there: each option with its default, each metric, each command, each
number?"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from keystoneauth1 import loading

import blazar
from blazar import (
    broker,  # noqa: F401 - before oslo.messaging, whose options are looked up below
    plugins,
)
from blazar.adapters.metrics import PrometheusMetrics
from blazar.adapters.openstack import bulkhead
from blazar.api import body, errors, leases
from blazar.api.authentication import ANSWER_SECONDS
from blazar.api.schemas import maintenances
from blazar.cmd import listener
from blazar.cmd.db_manage import _add_commands
from blazar.domain.lease import progress
from blazar.domain.lease.healing import CLOSED
from blazar.domain.lease.maintenance import EffectReason
from blazar.engine import drift, loop, threads, upkeep
from blazar.rpc import messaging, proxy
from blazar.service import preparation, reconciliation, request_cloud, retention
from blazar.service.health import ManagerHealth, ThreadHealth, ThreadState
from blazar.service.maintenances import assessor, use_cases
from blazar.service.ports import LONGEST_TEXT
from blazarnova.options import list_opts

PAGES = Path(__file__).parents[3] / "docs/operator"
OF_NOVA: dict[tuple[str, str], Any] = {
    ("DEFAULT", "default_schedule_zone"): None,
    ("api", "max_limit"): 1000,
    ("cinder", "cross_az_attach"): True,
    ("compute", "resource_provider_association_refresh"): 300,
}
"""The defaults of Nova's options that are named."""
LIBRARIES = frozenset(
    {"keystonemiddleware.auth_token", "oslo.log", "oslo.messaging", "oslo.middleware", "oslo.policy"}
)
"""The libraries whose options stand in blazar.conf as well."""


def page(name: str) -> str:
    """Return the text of a page, on one line."""
    return " ".join((PAGES / f"{name}.md").read_text().split())


def of_the_filter() -> dict[tuple[str, str], Any]:
    """Return the default of each option that the filter adds to nova.conf."""
    found = {(group.name, option.name): option.default for group, known in list_opts() for option in known}
    credentials = loading.get_auth_common_conf_options()
    return found | {("blazar:backfill", option.dest): option.default for option in credentials}


def options() -> dict[tuple[str, str], Any]:
    """Return the default of each option that blazar.conf may have."""
    found = {(group, option.name): option.default for group, known in plugins.list_opts() for option in known}
    found |= {("cloud", option.dest): option.default for option in loading.get_session_conf_options()}
    for each in entry_points(group="oslo.config.opts"):
        if each.name in LIBRARIES:
            for group, known in each.load()():
                found |= {(str(group or "DEFAULT"), option.dest): option.default for option in known}
    return found | {("keystone_authtoken", "http_connect_timeout"): ANSWER_SECONDS}


@pytest.mark.parametrize("name", sorted(path.stem for path in PAGES.glob("*.md")))
def test_each_option_is_there(name: str) -> None:
    named = {(group, option) for group, option in re.findall(r"`\[([\w:]+)\] (\w+)", page(name))}
    assert not named - options().keys() - of_the_filter().keys() - OF_NOVA.keys()


def test_each_default_is_right() -> None:
    told = {
        (group, option): float(number)
        for group, option, number in re.findall(
            r"`\[([\w:]+)\] (\w+)`(?:, |(?: [a-z ]+)? \()(\d+(?:\.\d+)?)(?: by default)?[);]",
            page("reliability"),
        )
    }
    known = options() | OF_NOVA
    assert len(told) > 10
    assert told == {which: float(known[which]) for which in told}


def shown() -> set[str]:
    """Return the names of all metrics."""
    metrics = PrometheusMetrics()
    health = ManagerHealth(0.0, 0, threads=(ThreadHealth("relay", ThreadState.OK, 0.0),))
    metrics.show_health(lambda: health, lambda: health.threads)
    return set(re.findall(r"^# TYPE (\w+) ", metrics.exposition()[1].decode(), re.MULTILINE))


def metrics_of(name: str) -> set[str]:
    return set(re.findall(r"`(blazar_[a-z_]+)`", page(name)))


def test_each_metric_is_there_and_explained() -> None:
    explained = metrics_of("monitoring")
    assert {metric for metric in shown() if not metric.endswith("_created")} == explained
    assert metrics_of("reliability") < explained


def commands() -> Iterator[list[str]]:
    for path in sorted(PAGES.glob("*.md")):
        for line in re.findall(r"^ *\$? ?(blazar-db-manage .*)$", path.read_text(), re.MULTILINE):
            yield shlex.split(line, comments=True)[1:]


def test_each_command_is_there() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config-file")
    _add_commands(parser.add_subparsers(dest="command"))
    found = {parser.parse_args(words).command for words in commands()}
    assert found >= {"upgrade", "retry-lease", "remove-provider", "purge", "reconcile"}


def test_each_number_of_the_comparison_is_right() -> None:
    text, settings, known = page("reconcile"), reconciliation.ReconciliationSettings(), options()
    assert f"before it is removed; {settings.grace.seconds} by default" in text
    assert "seen for five minutes" in text
    assert settings.grace.seconds == 300
    assert "If more than ten reservations" in text
    assert reconciliation.FEW == 10
    assert f"`[manager] drift_check_seconds` | {known['manager', 'drift_check_seconds']} |" in text
    assert "at most twenty requests a second" in text
    assert drift.DriftCheck.pace == 1 / 20
    assert "anew after ten minutes" in text
    assert drift.DriftCheck.first_pause == drift.DriftCheck.longest_pause == 600
    assert "a hundred at the most" in text
    assert drift.MOST_LINES == 100
    assert "expires thirty days after" in text
    assert preparation.TRUST_MARGIN.days == 30


TROUBLES = ("deploy", "monitoring", "dashboard", "subscriptions", "feeds")
OF_OTHERS = {
    "Config file not found",
    "Worker failed to boot",
    "need-app requested, destroying the instance",
    "service list",
    "systemctl stop",
}
"""What other programs say, and what is typed."""
FILLED = "\0"
"""Stands in a text for what is filled in."""


def said() -> Iterator[str]:
    """Yield each text in the service and in its page."""
    sources = Path(blazar.__file__).parent
    for path in sources.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else FILLED for part in node.values)
                yield "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    texts = (sources / "api/dashboard/static/js/texts.js").read_text()
    yield from (texts.replace("{service}", service) for service in ("Keystone", "The API"))


def test_each_sign_of_trouble_is_what_the_programs_say() -> None:
    signs = set()
    for name in TROUBLES:
        table = (PAGES / f"{name}.md").read_text().partition("\n## What can go wrong\n")[2]
        first = "".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("|"))
        signs |= {sign for sign in re.findall(r"`([^`]+)`", first) if " " in sign and sign[0] not in '"['}
    assert len(signs - OF_OTHERS) > 15
    known = list(said())
    missing = {
        sign
        for sign in signs - OF_OTHERS
        if not any(re.sub(r"\b\d+\b", FILLED, sign) in each for each in known)
    }
    assert not missing


NUMBERS = (
    f"after {progress.FIRST_RETRY.seconds} s at first and every {progress.LONGEST_OUTAGE.seconds} s at most",
    f"after {progress.FIRST_RETRY.seconds} s at first and every {progress.LONGEST_RETRY.seconds} s at most",
    f"is tried again, every {progress.LONGEST_OUTAGE.seconds} seconds at most, for `[manager] start_retry",
    f"pause for at most {threads.LONGEST_PAUSE:.0f} s and go on",
    f"pauses this work for {loop.REST:.0f} seconds",
    f"may take {request_cloud.UNDO_SECONDS:.0f} seconds each",
    f"read from the managers in pages of {leases.PAGE} leases",
    f"outcomes to {progress.LONGEST_REASON:,} characters, all others that are stored to {LONGEST_TEXT:,}",
    f"A body of more than {body.MAX_NODES:,} values, or nested deeper than {body.MAX_DEPTH} levels, is 400",
    f"cut to {errors.MAX_LOGGED} characters in the log",
)  # fmt: skip


@pytest.mark.parametrize("sentence", NUMBERS)
def test_each_number_is_right(sentence: str) -> None:
    assert sentence in page("reliability")


def test_each_number_in_words_is_right() -> None:
    text = page("reliability")
    assert "compares at most ten leases a second" in text
    assert loop.PACE == 1 / 10
    assert "waits for half a second, and then it is 503" in text
    assert bulkhead.WAIT_SECONDS == 0.5
    assert "gives the first manager that it asks a sixth of `rpc_response_timeout`" in text
    assert "the manager uses nine tenths of that" in text
    assert (messaging.SHARES[0], messaging.IN_TIME) == (1 / 6, 0.9)
    assert "the call is made up to three times" in text
    assert proxy.ATTEMPTS == 3
    assert "Each transaction removes a hundred leases at most" in text
    assert retention.BATCH == 100


def test_the_limits_of_maintenances_are_right() -> None:
    text = page("maintenance")
    hosts, planned = maintenances.MOST_HOSTS, use_cases.MOST_MAINTENANCES
    assert f"{hosts} hosts in one maintenance, {planned} maintenances planned or under way" in text
    assert f"| {assessor.MOST_LEASES:,} leases that have something on the hosts then |" in text
    assert "Within a minute more a manager removes" in text
    assert upkeep.LOOK == 60
    told = {f"`{reason}`" for reason in EffectReason if reason is not EffectReason.UNKNOWN}
    assert all(word in text for word in told)
    assert "taken away for maintenance" in text
    assert "taken away for maintenance" in CLOSED


def test_the_limits_of_the_server_are_right() -> None:
    limits, text = listener.Limits(), page("deploy")
    for what, limit in {
        "request line and headers": f"{listener.MAX_HEADERS // 1024} KiB",
        "body": f"{body.MAX_BYTES // 1024**2} MiB",
        "values in a body; levels inside each other": f"{body.MAX_NODES:,}; {body.MAX_DEPTH}",
        "first byte of a request on a new connection": f"{limits.silence:.0f} s",
        "silence after an answer": f"{limits.idle:.0f} s",
        "all headers, from their first byte": f"{limits.headers:.0f} s",
        "the body, after that": f"{limits.body:.0f} s",
        "taking an answer": f"{limits.answer:.0f} s",
        "connections": f"{limits.connections}, or a third of the open files",
    }.items():
        assert f"| {what} | {limit}" in text


def test_the_limits_in_the_table_of_health_are_right() -> None:
    text = page("monitoring")
    assert f"`FAILING` after {threads.FAILING:.0f} seconds of failures" in text
    assert "no sign of life for two minutes" in text
    assert threads.SILENT == 120


def test_servers_that_need_a_proxy_listen_on_loopback() -> None:
    text, proxied = page("deploy"), "127.0.0.1:1235"
    assert f"gunicorn --bind {proxied} " in text
    assert f"uwsgi --http-socket {proxied} " in text
    nginx = (PAGES / "nginx.conf").read_text()
    assert f"proxy_pass http://{proxied};" in nginx
    assert set(re.findall(r"(?:--bind|--http-socket) (\S+)", text)) == {proxied}
