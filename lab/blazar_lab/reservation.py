"""How does our own reservation service get installed, migrated and started against the lab's cloud?"""

from __future__ import annotations

from blazar_lab import environment, services
from blazar_lab.console import step
from blazar_lab.daemon import Supervisor
from blazar_lab.environment import Environment
from blazar_lab.settings import Settings


def start(settings: Settings, supervisor: Supervisor) -> None:
    """Both processes run the code of this checkout on a migrated database."""
    changed = environment.ensure(_environment(settings), settings.folder("log", "pip.log"))
    if changed:
        supervisor.stop(services.BLAZAR_COMMANDS)
    launch(settings, supervisor)


def launch(settings: Settings, supervisor: Supervisor) -> None:
    """Start those of our processes that do not run, as they are installed."""
    daemons = services.blazar_daemons(settings)
    if all(supervisor.running(daemon.name) for daemon in daemons):
        return
    with step("migrated the database of the reservation service"):
        environment.run(
            list(services.blazar_command(settings, services.BLAZAR_MIGRATE)),
            settings.folder("log", "blazar-db-manage.log"),
        )
    doctor = services.Doctor(settings, supervisor)
    with step("started blazar-manager, blazar-api"):
        for daemon in daemons:
            supervisor.start(daemon)
        supervisor.wait(["blazar-api"], doctor.answers, seconds=60)


def _environment(settings: Settings) -> Environment:
    return Environment(
        path=settings.venv_blazar,
        constraints=settings.repository / "constraints.txt",
        sources=(settings.repository / "server",),
        extras="[mysql]",
    )
