"""The fixtures of the compatibility tests: a running service, and programs in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

from clientkit.recorder import RecordingCloud  # noqa: E402 (found only now)
from clientkit.samples import add_default_answers  # noqa: E402
from clientkit.service import Service, running_service  # noqa: E402
from environments import NEW, OLD, Environment, build_all  # noqa: E402

TOGETHER = ("chi", "formats", "heat", "horizon", "libcloud", "library", "prometheus")
"""The files whose tests look at what is made or run once for all of them."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Build the environments beside the first tests, in the process that has the workers."""
    if getattr(session.config.option, "numprocesses", None):
        build_all()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the sessions, which wait for full minutes while the environments are built; and leave files
    whose tests belong together to one of pytest's workers."""
    items.sort(key=lambda item: item.path.name != "test_sessions.py")
    for item in items:
        if item.path.stem.removeprefix("test_") in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@dataclass(frozen=True)
class Ran:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str


class Program:
    """The commands of one environment, which one process there runs."""

    def __init__(self, environment: Environment) -> None:
        command = [str(environment.ready().bin / "python"), str(HERE / "programs" / "commands.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, words: list[str], variables: Mapping[str, str]) -> Ran:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([words, dict(variables)]) + "\n")
        self._process.stdin.flush()
        return Ran(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture(scope="session")
def old() -> Iterator[Program]:
    with closing(Program(OLD)) as program:
        yield program


@pytest.fixture(scope="session")
def new() -> Iterator[Program]:
    with closing(Program(NEW)) as program:
        yield program


@pytest.fixture(scope="session")
def recorder() -> Iterator[RecordingCloud]:
    with RecordingCloud() as cloud:
        yield add_default_answers(cloud)


@pytest.fixture
def recorder_variables(recorder: RecordingCloud) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OS_")}
    return {**plain, **recorder.environment()}


RunProgram = Callable[..., str]


@pytest.fixture(scope="session")
def run_program(service: Service) -> RunProgram:
    """Runs one of `programs` in another environment against the service, and returns its output."""

    def run(environment: Environment, program: str, cloud: str = "sandbox-admin", **variables: str) -> str:
        environment.ready()
        env = {**service.environment(cloud), "KEYSTONE_URL": service.auth_url, **variables}
        command = [str(environment.bin / "python"), "-W", "ignore", str(HERE / "programs" / program)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    return run
