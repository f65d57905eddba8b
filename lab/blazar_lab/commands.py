"""The commands of the lab, step by step."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from blazar_lab import bootstrap, configuration, environment, infrastructure, reservation, services
from blazar_lab.console import LabError, say, step
from blazar_lab.daemon import Supervisor
from blazar_lab.settings import Settings, read_record, write_record

FOLDERS = ("data", "etc", "faults", "log", "run", "state")
SERVERS = ("mariadb", "rabbitmq")


def up(settings: Settings) -> int:
    with _locked(settings) as supervisor:
        _install(settings, supervisor, _install_cloud, _install_clients, _install_blazar)
        _start_cloud(settings, supervisor)
        reservation.launch(settings, supervisor)
    say(f"the reservation service is up: {settings.url('blazar')}/v1")
    return 0


def up_cloud(settings: Settings) -> int:
    with _locked(settings) as supervisor:
        _install(settings, supervisor, _install_cloud, _install_clients)
        _start_cloud(settings, supervisor)
    return 0


def blazar_up(settings: Settings) -> int:
    with _locked(settings) as supervisor:
        if not services.HealthChecker(settings, supervisor).responds("keystone"):
            raise LabError("the cloud does not run; start it first with: lab.py up --without-blazar")
        _install(settings, supervisor, _install_blazar)
        reservation.launch(settings, supervisor)
    say(f"the reservation service is up: {settings.url('blazar')}/v1")
    return 0


def blazar_down(settings: Settings) -> int:
    with _locked(settings) as supervisor:
        _stop(supervisor, list(services.BLAZAR_COMMANDS))
    return 0


def down(settings: Settings) -> int:
    """Stop dependent services first; shared servers keep running."""
    with _locked(settings) as supervisor:
        _down(settings, supervisor)
    return 0


def status(settings: Settings) -> int:
    """Print a line for each service; return 0 when all are healthy, 1 otherwise."""
    supervisor = _supervisor(settings)
    record = read_record(settings.root)
    names = [name for name in SERVERS if record.get(f"{name}_port") == settings.port(name)]
    names += [*services.APIS, *services.workers(settings), *services.BLAZAR_COMMANDS]
    print(f"{'service':<18}{'pid':>8}{'port':>7}  health")
    found = services.HealthChecker(settings, supervisor).check(names)
    for health in found:
        state = "healthy" if health.healthy else health.remark
        print(f"{health.name:<18}{health.pid or '-':>8}{health.port or '-':>7}  {state}")
    for name in SERVERS:
        if name not in names and f"{name}_port" in record:
            print(f"{name:<18}{'-':>8}{record[f'{name}_port']:>7}  shared, not started by the lab")
    return 0 if all(health.healthy for health in found) else 1


def reset(settings: Settings) -> int:
    """Bring the cloud back to its state before the first reservation."""
    with _locked(settings) as supervisor:
        was_running = any(supervisor.running(name) for name in services.BLAZAR_COMMANDS)
        _stop(supervisor, list(services.BLAZAR_COMMANDS))
        with step("removed what reservations left in the cloud"):
            # the file itself: the installed package may be of an older checkout
            program = settings.repository / "lab" / "parts" / "src" / "blazar_lab_parts" / "cleanup.py"
            environment.run(
                [str(settings.venv / "bin" / "python"), str(program)],
                settings.folder("log", "cleanup.log"),
                bootstrap.as_admin(settings),
            )
        infrastructure.recreate_database(settings, "blazar")
        if was_running:
            _install(settings, supervisor, _install_blazar)
            reservation.launch(settings, supervisor)
    return 0


def wipe(settings: Settings) -> int:
    """Stop, and delete all data, also in shared servers; keep the environments, which hold no data."""
    with _locked(settings) as supervisor:
        _down(settings, supervisor)
        with step("deleted all data of the lab"):
            infrastructure.remove(settings)
            for folder in FOLDERS:
                shutil.rmtree(settings.folder(folder), ignore_errors=True)
            files = (settings.record_path, settings.clouds_yaml, settings.blazar_conf, settings.policy_yaml)
            for path in files:
                path.unlink(missing_ok=True)
    return 0


Install = Callable[[Settings, Supervisor], None]


def _install(settings: Settings, supervisor: Supervisor, *installs: Install) -> None:
    """Install environments side by side, since pip uses one core for each."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        for done in [pool.submit(install, settings, supervisor) for install in installs]:
            done.result()


def _install_cloud(settings: Settings, supervisor: Supervisor) -> None:
    if environment.ensure(environment.lab_environment(settings), _pip_log(settings, "cloud")):
        # running processes keep their old code until they are started again
        supervisor.stop(["nova-scheduler", "cinder-volume", *services.APIS])


def _install_clients(settings: Settings, supervisor: Supervisor) -> None:
    environment.ensure(environment.clients_environment(settings), _pip_log(settings, "clients"))


def _install_blazar(settings: Settings, supervisor: Supervisor) -> None:
    if reservation.install(settings, _pip_log(settings, "blazar")):
        supervisor.stop(services.BLAZAR_COMMANDS)


def _pip_log(settings: Settings, name: str) -> Path:
    return settings.folder("log", f"pip-{name}.log")


def _start_cloud(settings: Settings, supervisor: Supervisor) -> None:
    """Bring the cloud up from any state; repeat no step that is done."""
    infrastructure.ensure(settings, supervisor)
    configuration.write(settings)
    bootstrap.schemas(settings)
    _start_apis(settings, supervisor)
    bootstrap.identity(settings)
    _start_workers(settings, supervisor)
    bootstrap.cloud(settings)
    _wait_for_workers(settings, supervisor)
    write_record(settings.root, computes=settings.computes)
    say(f"the cloud is up: OS_CLIENT_CONFIG_FILE={settings.clouds_yaml} OS_CLOUD=lab-admin")


def _start_apis(settings: Settings, supervisor: Supervisor) -> None:
    checker = services.HealthChecker(settings, supervisor)
    started = [name for name in services.APIS if supervisor.start(services.api(settings, name))]
    if started:
        with step(f"started {', '.join(started)}"):
            supervisor.wait(started, checker.responds, seconds=180)


def _start_workers(settings: Settings, supervisor: Supervisor) -> None:
    for name in services.workers(settings):
        supervisor.start(services.worker(settings, name))


def _wait_for_workers(settings: Settings, supervisor: Supervisor) -> None:
    names = services.workers(settings)
    checker = services.HealthChecker(settings, supervisor)
    if not all(health.healthy for health in checker.check(names)):
        with step(f"the workers of Nova and Cinder work, {settings.computes} computes among them"):
            worker = partial(services.worker, settings)
            supervisor.wait(names, checker.working(names), seconds=240, daemon=worker)
    if checker.unmapped():
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
def _locked(settings: Settings) -> Iterator[Supervisor]:
    """Make the folders, and lock the lab against other commands."""
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
            raise LabError(f"another command is running on the lab in {settings.root}.") from error
        yield _supervisor(settings)
    finally:
        os.close(lock)
