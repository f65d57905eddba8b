"""What does each command of the lab do, step by step?"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from blazar_lab import bootstrap, configuration, environment, infrastructure, reservation, services
from blazar_lab.console import LabError, say, step
from blazar_lab.daemon import Supervisor
from blazar_lab.settings import Settings, read_record, write_record

FOLDERS = ("data", "etc", "faults", "log", "run", "state")
SERVERS = ("mariadb", "rabbitmq")


def up(settings: Settings) -> int:
    up_cloud(settings)
    return blazar_up(settings)


def up_cloud(settings: Settings) -> int:
    """From whatever is there to a running cloud; nothing is done twice."""
    with _alone(settings) as supervisor:
        changed = _install(settings)
        infrastructure.ensure(settings, supervisor)
        configuration.write(settings)
        bootstrap.schemas(settings)
        if changed:
            # processes keep the code that they were started with
            supervisor.stop(["nova-scheduler", *services.APIS])
        _start_apis(settings, supervisor)
        bootstrap.identity(settings)
        _start_nova_workers(settings, supervisor)
        bootstrap.cloud(settings)
        _wait_for_nova_workers(settings, supervisor)
        write_record(settings.root, computes=settings.computes)
    say(f"the cloud is up: OS_CLIENT_CONFIG_FILE={settings.clouds_yaml} OS_CLOUD=lab-admin")
    return 0


def blazar_up(settings: Settings) -> int:
    with _alone(settings) as supervisor:
        if not services.Doctor(settings, supervisor).answers("keystone"):
            raise LabError("the cloud does not run; start it first with: lab.py up --without-blazar")
        reservation.start(settings, supervisor)
    say(f"the reservation service is up: {settings.url('blazar')}/v1")
    return 0


def blazar_down(settings: Settings) -> int:
    with _alone(settings) as supervisor:
        _stop(supervisor, list(services.BLAZAR_COMMANDS))
    return 0


def down(settings: Settings) -> int:
    """Stop in the order in which one depends on another; shared servers are none of ours."""
    with _alone(settings) as supervisor:
        _down(settings, supervisor)
    return 0


def status(settings: Settings) -> int:
    """One line per service; 0 when all is well, 1 otherwise."""
    supervisor = _supervisor(settings)
    record = read_record(settings.root)
    names = [name for name in SERVERS if record.get(f"{name}_port") == settings.port(name)]
    names += [*services.APIS, *services.NOVA_WORKERS, *services.computes(settings), *services.BLAZAR_COMMANDS]
    print(f"{'service':<18}{'pid':>8}{'port':>7}  health")
    found = services.Doctor(settings, supervisor).examine(names)
    for health in found:
        state = "healthy" if health.healthy else health.remark
        print(f"{health.name:<18}{health.pid or '-':>8}{health.port or '-':>7}  {state}")
    for name in SERVERS:
        if name not in names and f"{name}_port" in record:
            print(f"{name:<18}{'-':>8}{record[f'{name}_port']:>7}  shared, not started by the lab")
    return 0 if all(health.healthy for health in found) else 1


def reset(settings: Settings) -> int:
    """The cloud as it was before the first reservation."""
    with _alone(settings) as supervisor:
        was_running = any(supervisor.running(name) for name in services.BLAZAR_COMMANDS)
        _stop(supervisor, list(services.BLAZAR_COMMANDS))
        with step("removed what reservations left in the cloud"):
            environment.run(
                [str(settings.venv / "bin" / "python"), "-m", "blazar_lab_parts.sweep"],
                settings.folder("log", "sweep.log"),
                bootstrap.as_admin(settings),
            )
        infrastructure.forget_reservations(settings)
        if was_running:
            reservation.start(settings, supervisor)
    return 0


def wipe(settings: Settings) -> int:
    """Stop and delete all data, also in shared servers; environments stay, they hold no data."""
    with _alone(settings) as supervisor:
        _down(settings, supervisor)
        with step("deleted all data of the lab"):
            infrastructure.remove(settings)
            for folder in FOLDERS:
                shutil.rmtree(settings.folder(folder), ignore_errors=True)
            for path in (settings.record_path, settings.clouds_yaml, settings.blazar_conf):
                path.unlink(missing_ok=True)
    return 0


def _install(settings: Settings) -> bool:
    log = settings.folder("log", "pip.log")
    changed = environment.ensure(environment.lab_environment(settings), log)
    environment.ensure(environment.clients_environment(settings), log)
    return changed


def _start_apis(settings: Settings, supervisor: Supervisor) -> None:
    doctor = services.Doctor(settings, supervisor)
    started = [name for name in services.APIS if supervisor.start(services.api(settings, name))]
    if started:
        with step(f"started {', '.join(started)}"):
            supervisor.wait(started, doctor.answers, seconds=180)


def _start_nova_workers(settings: Settings, supervisor: Supervisor) -> None:
    for name in (*services.NOVA_WORKERS, *services.computes(settings)):
        supervisor.start(services.nova_worker(settings, name))


def _wait_for_nova_workers(settings: Settings, supervisor: Supervisor) -> None:
    names = [*services.NOVA_WORKERS, *services.computes(settings)]
    doctor = services.Doctor(settings, supervisor)
    if not all(health.healthy for health in doctor.examine(names)):
        with step(f"conductor, scheduler and {settings.computes} computes work"):
            supervisor.wait(names, doctor.working(names), seconds=240)
    if doctor.unmapped():
        bootstrap.map_computes(settings)


def _down(settings: Settings, supervisor: Supervisor) -> None:
    names = set(supervisor.names())
    _stop(supervisor, sorted(names - set(SERVERS)))
    _stop(supervisor, sorted(names & set(SERVERS)))
    infrastructure.stop_epmd(settings)


def _stop(supervisor: Supervisor, names: list[str]) -> None:
    running = [name for name in names if supervisor.running(name)]
    if not running:
        supervisor.stop(names)
        return
    with step(f"stopped {', '.join(running)}"):
        supervisor.stop(names)


def _supervisor(settings: Settings) -> Supervisor:
    return Supervisor(settings.folder("run"), settings.folder("log"))


@contextmanager
def _alone(settings: Settings) -> Iterator[Supervisor]:
    """The folders exist and no other command of the same lab is at work."""
    try:
        for folder in FOLDERS:
            settings.folder(folder).mkdir(parents=True, exist_ok=True)
        lock = os.open(settings.folder("lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise LabError(f"{settings.root} cannot be written: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError(f"another command is at work on the lab in {settings.root}.") from error
        yield _supervisor(settings)
    finally:
        os.close(lock)
