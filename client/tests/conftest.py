"""The fixtures of the client's tests: a recording cloud, a fake clock, and commands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "support"))

from clientkit.recorder import RecordingCloud  # noqa: E402 (found only now)
from clientkit.runner import Blazar, FakeClock, commands  # noqa: E402
from clientkit.samples import add_default_answers  # noqa: E402
from clientkit.service import Service, running_service  # noqa: E402

settings.register_profile("untimed", deadline=None)  # a machine may be busy
settings.load_profile("untimed")

# openstacksdk warns of its own future, not of ours.
SDK_WARNINGS = ("openstack.warnings.RemovedInSDK50Warning", "openstack.warnings.RemovedInSDK60Warning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for category in SDK_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{category}"))


@pytest.fixture
def clock() -> FakeClock:
    """A clock at Monday, 7 January 2030, half past eight and some seconds."""
    return FakeClock(datetime(2030, 1, 7, 8, 30, 20, tzinfo=UTC))


@pytest.fixture(scope="session")
def one_cloud() -> Iterator[RecordingCloud]:
    with RecordingCloud() as cloud:
        yield cloud


@pytest.fixture
def cloud(one_cloud: RecordingCloud, monkeypatch: pytest.MonkeyPatch) -> RecordingCloud:
    """A recording cloud with its default answers; the environment variables point to it."""
    one_cloud.answers.clear()
    one_cloud.requests.clear()
    one_cloud.version = None
    for name, value in one_cloud.environment().items():
        monkeypatch.setenv(name, value)
    for name in ("OS_CLOUD", "OS_CLIENT_CONFIG_FILE", "BLAZAR_TIME_ZONE"):
        monkeypatch.delenv(name, raising=False)
    return add_default_answers(one_cloud)


@pytest.fixture
def blazar(cloud: RecordingCloud, clock: FakeClock) -> Iterator[Blazar]:
    with commands(cloud.requests, clock) as run:
        yield run


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The real service with its sandbox cloud, over HTTP."""
    with running_service(tmp_path_factory.mktemp("service")) as service:
        yield service
