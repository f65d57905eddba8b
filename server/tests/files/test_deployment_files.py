"""Is what the files for deployment name there: each program, option, port, path, image and target?"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from configparser import RawConfigParser
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import yaml
from falcon.testing import TestClient
from keystoneauth1 import loading

from blazar import conf
from blazar.adapters.metrics import PrometheusMetrics
from blazar.api.health import Health
from blazar.api.metrics import health_and_metrics_app
from blazar.cmd import listener
from blazar.cmd.db_manage import _add_commands
from blazar.cmd.supervised import MARGIN
from blazar_sandbox.__main__ import _parser as sandbox_parser

from .containerfile import DEPLOY, IMAGES, ROOT, TARGETS
from .test_operator_pages import options

PROGRAMS = {
    entry.name
    for each in ("blazar", "blazar-sandbox")
    for entry in distribution(each).entry_points
    if entry.group == "console_scripts"
}
PORTS = {"blazar-api": 1234, "blazar-manager": 9110, "blazar-webhooks": 9111, "blazar-sandbox": 5000}
CONF = "/etc/blazar/blazar.conf"
PATIENCE = conf.load(files=()).graceful_shutdown_timeout + MARGIN
"""Seconds that a program may take to stop."""
Json = dict[str, Any]


def check_words(words: list[str]) -> None:
    """Fail where a command line names a program, a command or an option that is not there."""
    program, *arguments = words
    name = program.rpartition("/")[2]
    assert name in PROGRAMS
    if name == "blazar-sandbox":
        sandbox_parser().parse_args(arguments)
        return
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--config-file", choices=[CONF])
    if name == "blazar-db-manage":
        _add_commands(parser.add_subparsers(dest="command", required=True))
    parser.parse_args(arguments)


# ------------------------------------------------------------------------------------------------- containers


def test_each_stage_begins_with_another_or_with_an_image_of_python() -> None:
    seen: set[str] = set()
    for name, base in IMAGES.bases.items():
        assert base in seen or base == "docker.io/library/python:${PYTHON}-slim"
        seen.add(name)
    assert TARGETS.keys() < seen


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_runs_its_program_as_another_user_than_root(target: str) -> None:
    words = IMAGES.words(target)
    assert words[0] == TARGETS[target]
    check_words(words)
    user, _, group = IMAGES.last(target, "USER").partition(":")
    assert user.isdigit()
    assert int(user) > 0
    assert group == user
    assert IMAGES.last(target, "STOPSIGNAL") == "SIGTERM"


@pytest.mark.parametrize("target", sorted(TARGETS.keys() - {"db-manage"}))
def test_an_image_is_asked_for_its_health_at_its_port(target: str) -> None:
    port = str(PORTS[TARGETS[target]])
    assert IMAGES.last(target, "EXPOSE") == port
    assert port in IMAGES.last(target, "HEALTHCHECK").partition("CMD ")[2]


def copied() -> Iterator[str]:
    for _, rest in [each for stage in IMAGES.stages.values() for each in stage if each[0] == "COPY"]:
        yield from [word for word in rest.split() if not word.startswith("--")][:-1]


def test_what_is_copied_is_there_and_let_in() -> None:
    let_in = re.findall(r"^!(\S+)$", (DEPLOY / "Containerfile.dockerignore").read_text(), re.MULTILINE)
    assert (DEPLOY / "Containerfile.dockerignore").read_text().startswith("*\n")
    assert sorted(copied()) == sorted(let_in)
    assert all((ROOT / name).exists() for name in let_in)
    assert os.access(DEPLOY / "healthy", os.X_OK)


def test_no_image_has_a_secret_or_a_distribution_of_the_index_under_our_names() -> None:
    for _, rest in [each for stage in IMAGES.stages.values() for each in stage]:
        assert not re.search(r"(?i)password|secret|token|\.conf\b(?!\")|\.env\b", rest)
        if "pip install" in rest:
            assert "--no-index --find-links /wheels" in rest


def test_probes_are_answered() -> None:
    """The paths of probes are those that a manager serves, and every API."""
    app = health_and_metrics_app(lambda: Health(True, {}), PrometheusMetrics().exposition)
    for path in ("/healthcheck", "/metrics"):
        assert TestClient(app).get(path).status_code == 200


# ---------------------------------------------------------------------------------------------------- compose


def interpolated(text: str, values: dict[str, str]) -> str:
    """Return a compose file as compose reads it. Fails where it needs a variable that has no value."""

    def value(found: re.Match[str]) -> str:
        name, default = found[1], found[2]
        assert name in values or default is not None, name
        return values.get(name, default)

    return re.sub(r"\$\{(\w+)(?::\?|:-([^}]*))\}", value, text)


def settings(name: str) -> dict[str, str]:
    lines = (DEPLOY / "compose" / name).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


@pytest.fixture(params=["sandbox.env", "cloud.env.sample"])
def compose(request: pytest.FixtureRequest) -> Json:
    text = (DEPLOY / "compose/compose.yaml").read_text()
    found: Json = yaml.safe_load(interpolated(text, settings(request.param)))
    return found


def ours(compose: Json) -> dict[str, Json]:
    return {name: each for name, each in compose["services"].items() if "build" in each}


def test_compose_builds_targets_that_are_there_and_runs_their_programs(compose: Json) -> None:
    built = {name: each["build"] for name, each in ours(compose).items()}
    assert {each["target"] for each in built.values()} == TARGETS.keys()
    for name, build in built.items():
        assert (DEPLOY / "compose" / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]).is_file()
        program = IMAGES.words(build["target"])[0]
        assert compose["services"][name]["image"] == program
        check_words([program, *compose["services"][name]["command"]])


def test_compose_names_services_volumes_and_ports_that_are_there(compose: Json) -> None:
    services = compose["services"]
    for name, each in services.items():
        assert each.get("depends_on", {}).keys() <= services.keys() - {name}
        assert {volume.partition(":")[0] for volume in each.get("volumes", ())} <= compose["volumes"].keys()
        for port in each.get("ports", ()):
            assert int(port.rpartition(":")[2]) == PORTS[each["image"]]
    for name, wanted in [(n, w) for each in services.values() for n, w in each.get("depends_on", {}).items()]:
        if wanted["condition"] == "service_healthy":
            build = services[name].get("build")
            assert "healthcheck" in services[name] or (build and IMAGES.last(build["target"], "HEALTHCHECK"))


def test_each_option_of_the_environment_is_there_and_is_read(
    compose: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {name: each["environment"] for name, each in ours(compose).items() if "environment" in each}
    assert given.keys() == {"schema", "manager", "webhooks", "api"}
    environment = given["manager"]
    assert all(each == environment for each in given.values())
    by_plugin = {option.dest for option in loading.get_auth_plugin_conf_options("password")}
    for name, value in environment.items():
        group, option = re.fullmatch(r"OS_([A-Z_]+?)__([A-Z_]+)", name).groups()  # type: ignore[union-attr]
        group = "DEFAULT" if group == "DEFAULT" else group.lower()
        known = {of for in_group, of in options() if in_group == group}
        known |= by_plugin | {"auth_type"} if group in ("cloud", "keystone_authtoken") else set()
        assert option.lower() in known, name
        monkeypatch.setenv(name, value)
    read = conf.load(files=())
    assert read.database.connection == environment["OS_DATABASE__CONNECTION"]
    assert read.manager.metrics_port == PORTS["blazar-manager"]
    assert read.subscriptions.metrics_port == PORTS["blazar-webhooks"]
    assert "webhooks" in ours(compose) or read.subscriptions.deliver_in_manager
    assert read.cloud.auth_type == "password"
    auth = loading.load_auth_from_conf_options(read, "cloud")
    assert auth.auth_url == environment["OS_CLOUD__AUTH_URL"]


def test_our_containers_can_do_little_and_have_time_to_stop(compose: Json) -> None:
    for name in ("schema", "manager", "webhooks", "api"):
        each = compose["services"][name]
        assert each["read_only"] is True
        assert each["cap_drop"] == ["ALL"]
        assert int(each["stop_grace_period"].removesuffix("s")) >= PATIENCE


# ------------------------------------------------------------------------------------------------- Kubernetes


def manifests() -> Iterator[Json]:
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def of_kind(kind: str) -> dict[str, Json]:
    return {each["metadata"]["name"]: each for each in manifests() if each["kind"] == kind}


PODS = {
    name: each["spec"]["template"] for kind in ("Job", "Deployment") for name, each in of_kind(kind).items()
}


def test_the_customization_has_every_manifest_and_every_image() -> None:
    (known,) = [each for each in manifests() if each["kind"] == "Kustomization"]
    there = {path.name for path in (DEPLOY / "kubernetes").glob("*.yaml")} - {"kustomization.yaml"}
    assert set(known["resources"]) == there
    used = {pod["spec"]["containers"][0]["image"] for pod in PODS.values()}
    assert {each["name"] for each in known["images"]} == used
    assert {each["newTag"] for each in known["images"]} == {distribution("blazar").version}
    assert [each["name"] for each in known["secretGenerator"]] == ["blazar-conf"]
    assert known["secretGenerator"][0]["files"] == [Path(CONF).name]


@pytest.mark.parametrize("name", PODS)
def test_a_pod_runs_a_program_that_is_there_on_a_configuration_that_is_mounted(name: str) -> None:
    spec = PODS[name]["spec"]
    (container,) = spec["containers"]
    (target,) = (key for key, image in TARGETS.items() if image == container["image"])
    check_words([*json.loads(IMAGES.last(target, "ENTRYPOINT")), *container["args"]])
    (mount,) = container["volumeMounts"]
    (volume,) = spec["volumes"]
    assert mount["mountPath"] == str(Path(CONF).parent)
    assert (mount["name"], volume["secret"]["secretName"]) == (volume["name"], "blazar-conf")
    user = int(IMAGES.last(target, "USER").partition(":")[0])
    security = spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] == security["runAsGroup"] == security["fsGroup"] == user
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("name", of_kind("Deployment"))
def test_a_deployment_is_asked_at_its_port_and_has_time_to_stop(name: str) -> None:
    pod = PODS[name]
    (container,) = pod["spec"]["containers"]
    port = PORTS[container["image"]]
    assert [each["containerPort"] for each in container["ports"]] == [port]
    assert container["readinessProbe"]["httpGet"] == {"path": "/healthcheck", "port": port}
    assert container["livenessProbe"]["httpGet"] == {"path": "/metrics", "port": port}
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(port)
    assert pod["spec"]["terminationGracePeriodSeconds"] >= PATIENCE
    labels = pod["metadata"]["labels"]
    assert of_kind("Deployment")[name]["spec"]["selector"]["matchLabels"] == labels
    assert of_kind("PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"] == labels
    policy = of_kind("NetworkPolicy")[name]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    assert [each["port"] for rule in policy["ingress"] for each in rule["ports"]] == [port]


def test_the_service_leads_to_the_api() -> None:
    spec = of_kind("Service")["blazar-api"]["spec"]
    assert spec["selector"] == PODS["blazar-api"]["metadata"]["labels"]
    assert [each["targetPort"] for each in spec["ports"]] == [PORTS["blazar-api"]]


# ------------------------------------------------------------------------------------ one machine, and others


class Unit(RawConfigParser):
    """A systemd unit. Fails where an option is given twice."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


SERVICE_OPTIONS = frozenset(
    {
        "Type",
        "User",
        "ExecStart",
        "ExecReload",
        "KillMode",
        "TimeoutStopSec",
        "Restart",
        "RestartSec",
        "LimitNOFILE",
        "Nice",
        "UMask",
        "LogsDirectory",
        "LogsDirectoryMode",
        "NoNewPrivileges",
        "CapabilityBoundingSet",
        "ProtectSystem",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectKernelTunables",
        "ProtectKernelModules",
        "ProtectControlGroups",
        "RestrictAddressFamilies",
        "RestrictNamespaces",
        "LockPersonality",
        "SystemCallArchitectures",
    }
)


@pytest.mark.parametrize("program", ["blazar-api", "blazar-manager", "blazar-webhooks"])
def test_a_unit_of_systemd(program: str) -> None:
    unit = Unit(interpolation=None)
    unit.read(DEPLOY / "systemd" / f"{program}.service")
    assert unit.sections() == ["Unit", "Service", "Install"]
    service = unit["Service"]
    assert service.keys() <= SERVICE_OPTIONS
    words = shlex.split(service["ExecStart"])
    assert words[0] == f"/opt/blazar/bin/{program}"
    check_words(words)
    assert service["Type"] == "notify"
    assert service["User"] not in ("", "root")
    assert int(service["TimeoutStopSec"]) >= PATIENCE
    limits = listener.Limits()
    assert int(service["LimitNOFILE"]) >= 3 * limits.connections
    assert int(service.get("Nice", "0")) == (10 if program == "blazar-webhooks" else 0)


def test_logrotate_rotates_where_the_units_may_write() -> None:
    text = (DEPLOY / "logrotate/blazar").read_text()
    pattern, rules = re.findall(r"^(/\S+) \{\n(.*?)^\}$", text, re.DOTALL | re.MULTILINE)[0]
    unit = Unit(interpolation=None)
    unit.read(DEPLOY / "systemd/blazar-api.service")
    assert pattern == f"/var/log/{unit['Service']['LogsDirectory']}/*.log"
    assert "copytruncate" in rules.split()
    assert ("DEFAULT", "log_dir") in options()


def test_haproxy_waits_as_long_as_the_api() -> None:
    text, limits = (DEPLOY / "haproxy/haproxy.cfg").read_text(), listener.Limits()
    found = dict(re.findall(r"^ +timeout (\S+) +(\d+)s$", text, re.MULTILINE))
    assert float(found["http-request"]) == limits.headers
    assert float(found["client"]) == limits.body
    assert float(found["http-keep-alive"]) == limits.idle
    assert float(found["server"]) > options()["DEFAULT", "rpc_response_timeout"]
    assert "option http-buffer-request" in text
    assert "option httpchk GET /healthcheck" in text
    assert "if { path /metrics }" in text
    servers = re.findall(r"^ +server \S+ \S+:(\d+) check", text, re.MULTILINE)
    assert {int(port) for port in servers} == {PORTS["blazar-api"]}
    backends = set(re.findall(r"^backend (\S+)$", text, re.MULTILINE))
    assert set(re.findall(r"default_backend (\S+)$", text, re.MULTILINE)) == backends


@pytest.mark.parametrize("program", ["blazar-api", "blazar-manager", "blazar-webhooks"])
def test_kolla_runs_a_program_that_is_there(program: str) -> None:
    known = json.loads((DEPLOY / "kolla" / f"{program}.json").read_text())
    words = shlex.split(known["command"])
    assert words[0] == program
    check_words(words)
    copied = {each["dest"]: each for each in known["config_files"]}
    assert CONF in copied
    assert {each["perm"] for each in copied.values()} == {"0600"}


def test_devstack_names_options_and_programs_that_are_there() -> None:
    text = (ROOT / "devstack/plugin.sh").read_text()
    for name in ("plugin.sh", "settings"):
        subprocess.run(["bash", "-n", ROOT / "devstack" / name], check=True)
    set_there = re.findall(r'iniset "\$BLAZAR_CONF" (\S+) (\w+)', text)
    groups = {"$group": ("keystone_authtoken", "cloud")}
    to_sign_in = {option.dest for option in loading.get_auth_plugin_conf_options("password")} | {"auth_type"}
    known = options().keys() | {(group, name) for group in groups["$group"] for name in to_sign_in}
    assert len(set_there) > 15
    assert {(real, name) for group, name in set_there for real in groups.get(group, (group,))} <= known
    named = set(re.findall(r"\$BLAZAR_VENV/bin/(blazar[\w-]*)", text))
    assert named == {"blazar-api", "blazar-manager", "blazar-db-manage"} <= PROGRAMS
    variables = set(re.findall(r"^(BLAZAR_\w+)=", (ROOT / "devstack/settings").read_text(), re.MULTILINE))
    assert set(re.findall(r"\$\{?(BLAZAR_\w+)", text)) <= variables
