"""The reservation service in the lab: installation, database migration, start."""

from __future__ import annotations

from pathlib import Path

from blazar_lab import environment, services
from blazar_lab.console import step
from blazar_lab.daemon import Supervisor
from blazar_lab.environment import Environment
from blazar_lab.settings import Settings


def install(settings: Settings, log: Path) -> bool:
    """Install the code of this checkout; tell whether it has changed."""
    return environment.ensure(_environment(settings), log)


def launch(settings: Settings, supervisor: Supervisor) -> None:
    """Migrate the database, and start those of our processes that do not run."""
    daemons = services.blazar_daemons(settings)
    if all(supervisor.running(daemon.name) for daemon in daemons):
        return
    with step("migrated the database of the reservation service"):
        environment.run(
            list(services.blazar_command(settings, services.BLAZAR_MIGRATE)),
            settings.folder("log", "blazar-db-manage.log"),
        )
    checker = services.HealthChecker(settings, supervisor)
    with step("started blazar-manager, blazar-api"):
        for daemon in daemons:
            supervisor.start(daemon)
        supervisor.wait(["blazar-api"], checker.responds, seconds=60)


def _environment(settings: Settings) -> Environment:
    return Environment(
        path=settings.venv_blazar,
        constraints=settings.repository / "constraints.txt",
        sources=(settings.repository / "server",),
        extras="[mysql]",
    )
