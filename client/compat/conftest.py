"""The fixtures of the compatibility tests: a running service, and programs in environments of their own."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from made_once import Shared

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "support")]

from clientkit.recorder import RecordingCloud  # noqa: E402 (found only now)
from clientkit.samples import add_default_answers  # noqa: E402
from clientkit.service import Service, running_service  # noqa: E402
from environments import NEW, OLD, Environment, build_all  # noqa: E402


def pytest_sessionstart(session: pytest.Session) -> None:
    """Build the environments beside the first tests, in the process that has the workers."""
    if getattr(session.config.option, "numprocesses", None):
        build_all()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each worker begin with a session, which waits for full minutes while the environments are built.

    xdist gives each worker a block of the list."""
    sessions = [item for item in items if item.path.name == "test_sessions.py"]
    others = [item for item in items if item not in sessions]
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    size = math.ceil(len(others) / count)
    items[:] = [
        item for n in range(count) for item in (*sessions[n::count], *others[n * size : (n + 1) * size])
    ]


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
def run_program(
    service: Service, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> RunProgram:
    """Runs one of `programs` in another environment against the service, and returns its output: once for all
    tests, whichever of pytest's workers they are run by."""
    shared = Shared(tmp_path_factory, pytestconfig)

    def run(environment: Environment, program: str, cloud: str = "sandbox-admin", **variables: str) -> str:
        def write_output(path: Path) -> None:
            environment.ready()
            env = {**service.environment(cloud), "KEYSTONE_URL": service.auth_url, **variables}
            command = [str(environment.bin / "python"), "-W", "ignore", str(HERE / "programs" / program)]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1800)
            assert done.returncode == 0, done.stderr[-4000:]
            path.write_text(done.stdout)

        what = json.dumps([environment.name, program, cloud, variables], sort_keys=True)
        name = f"{program}-{hashlib.sha256(what.encode()).hexdigest()[:12]}"
        return shared.made(name, write_output).read_text()

    return run
