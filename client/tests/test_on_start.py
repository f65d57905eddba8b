"""What is started with a lease, by options and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from clientkit import samples
from clientkit.recorder import RecordingCloud
from clientkit.runner import Blazar

from blazarclient.v1.on_start import stack, webhook

HOT = "heat_template_version: 2021-04-16\nparameters:\n  flavor: {type: string}\n"
TEMPLATE = {"heat_template_version": "2021-04-16", "parameters": {"flavor": {"type": "string"}}}
ONE = "--reservation resource_type=physical:host,min=1,max=1"
VERSION = "reservation 1.37"


@pytest.fixture
def hot(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(HOT)
    return path


def sent_by(blazar: Blazar, options: str) -> Any:
    (asked,) = blazar(f"lease-create {ONE} {options} lease").requests
    return asked


def test_a_stack_is_asked_for_with_a_file_and_parameters(blazar: Blazar, hot: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment.yaml"
    environment.write_text("parameter_defaults: {a: 2030-01-01}\n")
    asked = sent_by(
        blazar,
        f"--on-start-stack {hot} --on-start-parameter flavor={{reservations.0.flavor_id}} "
        f"--on-start-parameter url=a=b --on-start-environment {environment} --on-start-timeout 1h",
    )
    assert asked.headers["openstack-api-version"] == VERSION
    assert asked.body["on_start"] == {
        "type": "stack",
        "template": TEMPLATE,
        "parameters": {"flavor": "{reservations.0.flavor_id}", "url": "a=b"},
        "environment": {"parameter_defaults": {"a": "2030-01-01"}},
        "timeout_minutes": 60,
    }


def test_heat_reads_a_template_at_an_address(blazar: Blazar) -> None:
    asked = sent_by(blazar, "--on-start-stack https://templates.example.com/cluster.yaml")
    assert asked.body["on_start"] == {
        "type": "stack",
        "template_url": "https://templates.example.com/cluster.yaml",
    }


def test_a_webhook_is_asked_for(blazar: Blazar) -> None:
    asked = sent_by(blazar, "--on-start-webhook https://receiver.example.com/x")
    assert asked.body["on_start"] == {"type": "webhook", "url": "https://receiver.example.com/x"}


def test_a_lease_that_may_wait_has_it_as_well(blazar: Blazar) -> None:
    asked = sent_by(blazar, "--on-start-webhook https://x.example.com --or-wait-until 2050-01-01T10:00")
    assert asked.headers["openstack-api-version"] == VERSION
    assert asked.body["on_start"]["type"] == "webhook"


def test_a_lease_without_it_is_asked_for_as_before(blazar: Blazar) -> None:
    asked = sent_by(blazar, "--duration 4h")
    assert "on_start" not in asked.body
    assert asked.headers.get("openstack-api-version") != VERSION


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--on-start-parameter a=b", "--on-start-parameter is for --on-start-stack"),
        ("--on-start-webhook https://x.example.com --on-start-timeout 5m", "is for --on-start-stack"),
        ("--on-start-stack {hot} --on-start-parameter a", "is not key=value"),
        ("--on-start-stack {hot} --on-start-timeout 30s", "counts in minutes"),
        ("--on-start-stack no-such-file.yaml", "No such file"),
        ("--on-start-stack {hot} --offer an-offer", "leave out --on-start-stack"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_sent(
    blazar: Blazar, hot: Path, options: str, said: str
) -> None:
    reservation = "" if "--offer" in options else ONE
    ran = blazar(f"lease-create {reservation} {options.format(hot=hot)} lease")
    assert said in ran.err
    assert not ran.requests


@pytest.mark.parametrize(("text", "said"), [("- a\n", "keys and values"), ("a: [\n", "is not YAML")])
def test_what_is_no_template_is_told(blazar: Blazar, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    ran = blazar(f"lease-create {ONE} --on-start-stack {path} lease")
    assert said in ran.err
    assert not ran.requests


def test_a_file_tells_what_is_started(blazar: Blazar, tmp_path: Path) -> None:
    path = tmp_path / "lease.yaml"
    one = {"resource_type": "physical:host", "min": 1, "max": 1}
    wanted = {"type": "stack", "template": TEMPLATE}
    path.write_text(
        yaml.safe_dump({"name": "x", "duration": "8h", "on_start": wanted, "reservations": [one]})
    )
    (asked,) = blazar(f"lease-create -F {path}").requests
    assert asked.body["on_start"] == wanted
    (asked,) = blazar(f"lease-create -F {path} --on-start-webhook https://x.example.com").requests
    assert asked.body["on_start"]["type"] == "webhook"
    path.write_text("name: x\non_start: stack\nreservations: []\n")
    assert "on_start is to be keys and values" in blazar(f"lease-create -F {path}").err


def test_a_lease_shows_how_far_it_is(blazar: Blazar, cloud: RecordingCloud) -> None:
    shown = {"type": "stack", "status": "CREATED", "stack_id": "s"}
    cloud.answer("GET", f"/leases/{samples.LEASE_ID}", 200, {"lease": samples.lease(on_start=shown)})
    ran = blazar(f"lease-show {samples.LEASE_ID} -f value -c on_start")
    assert json.loads(ran.out) == shown
    assert ran.requests[-1].headers["openstack-api-version"] == VERSION


def test_the_values_of_a_program(hot: Path) -> None:
    assert stack(TEMPLATE, timeout_minutes=5) == {"type": "stack", "template": TEMPLATE, "timeout_minutes": 5}
    assert webhook("https://x") == {"type": "webhook", "url": "https://x"}
