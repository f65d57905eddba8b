"""MariaDB and RabbitMQ: shared servers or private ones, and the lab's databases, virtual host and users.

The lab shares servers that run on their standard ports; its databases, virtual host and users carry its
name. Where there are none, or with LAB_INFRA=own, it runs private servers below its own folder.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
from pathlib import Path

from blazar_lab.console import LabError, say, step
from blazar_lab.daemon import Daemon, Supervisor, is_listening
from blazar_lab.environment import run
from blazar_lab.settings import DATABASES, HOST, PASSWORD, Settings, read_record, write_record

MARIADB_PORT = 3306
RABBITMQ_PORT = 5672
SHARED = {"mariadb": MARIADB_PORT, "rabbitmq": RABBITMQ_PORT}
MARIADB_SOCKET = "/run/mysqld/mysqld.sock"


def ensure(settings: Settings, supervisor: Supervisor) -> None:
    """Make sure that both servers run, and that the lab's databases, virtual host and users exist."""
    _ensure_mariadb(settings, supervisor)
    _ensure_rabbitmq(settings, supervisor)


def remove(settings: Settings) -> None:
    """Remove the lab's databases, virtual host and users from shared servers."""
    record = read_record(settings.root)
    if record.get("mariadb_port") == MARIADB_PORT and is_listening(MARIADB_PORT):
        _sql(settings, _removal_sql(settings))
    if record.get("rabbitmq_port") == RABBITMQ_PORT and is_listening(RABBITMQ_PORT):
        for verb in (["delete_vhost", settings.name], ["delete_user", settings.name]):
            subprocess.run(["rabbitmqctl", "-q", *verb], capture_output=True, check=False)


def stop_epmd(settings: Settings) -> None:
    """Stop the lab's Erlang port mapper, which outlives the broker that started it."""
    if shutil.which("epmd") and is_listening(settings.port("epmd")):
        subprocess.run(
            ["epmd", "-port", str(settings.port("epmd")), "-kill"], capture_output=True, check=False
        )


# --- MariaDB ---------------------------------------------------------------------------------------------


def _ensure_mariadb(settings: Settings, supervisor: Supervisor) -> None:
    record = read_record(settings.root)
    if "mariadb_port" not in record:
        shared = settings.infrastructure == "auto" and _shared_mariadb(settings)
        write_record(settings.root, mariadb_port=MARIADB_PORT if shared else settings.port("mariadb"))
    elif record["mariadb_port"] == MARIADB_PORT and not is_listening(MARIADB_PORT):
        raise LabError(f"the lab's databases are in the MariaDB on port {MARIADB_PORT}, which does not run.")
    if read_record(settings.root)["mariadb_port"] == MARIADB_PORT:
        stamp, wanted = settings.folder("state", "databases"), " ".join(DATABASES)
        if not stamp.exists():
            if is_listening(settings.port("keystone")):
                raise LabError(f"another lab named {settings.name} runs: stop it, or give this one LAB_NAME.")
            with step(f"made databases {settings.name}_* in the MariaDB on port {MARIADB_PORT}"):
                # an interrupted start, or a lab whose folder is gone, may have left some
                _sql(settings, [*_removal_sql(settings), *_creation_sql(settings)])
        elif stamp.read_text() != wanted:
            # a lab of an older checkout, with fewer services
            _sql(settings, _creation_sql(settings))
        stamp.write_text(wanted)
    else:
        _start_mariadb(settings, supervisor)


def _shared_mariadb(settings: Settings) -> bool:
    if not is_listening(MARIADB_PORT):
        return False
    try:
        _sql(settings, ["SELECT 1"])
    except LabError:
        say(f"a MariaDB runs on port {MARIADB_PORT} but does not let root in; the lab starts one of its own")
        return False
    return True


def _creation_sql(settings: Settings) -> list[str]:
    statements = [
        f"CREATE DATABASE IF NOT EXISTS `{settings.database(name)}` CHARACTER SET {characters}"
        for name, characters in DATABASES.items()
    ]
    pattern = settings.name.replace("_", r"\_") + r"\_%"
    for host in ("localhost", HOST):
        user = f"'{settings.name}'@'{host}'"
        statements += [
            f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY '{PASSWORD}'",
            f"GRANT ALL PRIVILEGES ON `{pattern}`.* TO {user}",
        ]
    return statements


def _removal_sql(settings: Settings) -> list[str]:
    drops = [f"DROP DATABASE IF EXISTS `{settings.database(name)}`" for name in DATABASES]
    return drops + [f"DROP USER IF EXISTS '{settings.name}'@'{host}'" for host in ("localhost", HOST)]


def recreate_database(settings: Settings, name: str) -> None:
    """Make a database as that of the reservation service, in the place of one of this name."""
    full = settings.database(name)
    create = f"CREATE DATABASE `{full}` CHARACTER SET {DATABASES['blazar']}"
    _sql(settings, [f"DROP DATABASE IF EXISTS `{full}`", create], as_lab_user=True)


def drop_database(settings: Settings, name: str) -> None:
    _sql(settings, [f"DROP DATABASE `{settings.database(name)}`"], as_lab_user=True)


def _sql(settings: Settings, statements: list[str], *, as_lab_user: bool = False) -> None:
    """Run statements through the driver in the lab's environment, so that no database client is needed."""
    python = settings.venv / "bin" / "python"
    port = read_record(settings.root).get("mariadb_port", MARIADB_PORT)
    user, password = (settings.name, PASSWORD) if as_lab_user else ("root", "")
    where = [HOST, str(port), MARIADB_SOCKET, user, password]
    run(
        [str(python), "-m", "blazar_lab_parts.statements", *where, *statements],
        settings.folder("log", "databases.log"),
    )


def _start_mariadb(settings: Settings, supervisor: Supervisor) -> None:
    if supervisor.running("mariadb"):
        return
    _require(settings, "mariadbd", "mariadb-server")
    data = settings.folder("data", "mariadb")
    user = "mysql" if os.geteuid() == 0 else getpass.getuser()
    if not data.exists():
        data.mkdir(parents=True)
        if os.geteuid() == 0:
            shutil.chown(data, user)
        with step("made a private MariaDB"):
            run(
                [
                    "mariadb-install-db",
                    "--no-defaults",
                    f"--user={user}",
                    f"--datadir={data}",
                    "--skip-test-db",
                ],
                settings.folder("log", "mariadb-install.log"),
            )
    # executed by the server itself at every start: no client and no password of root is needed
    init = settings.folder("etc", "mariadb-init.sql")
    init.write_text("".join(f"{line};\n" for line in _creation_sql(settings)))
    supervisor.start(
        Daemon(
            "mariadb",
            (
                *("mariadbd", "--no-defaults", f"--user={user}", f"--datadir={data}", f"--init-file={init}"),
                *(f"--bind-address={HOST}", f"--port={settings.port('mariadb')}"),
                *(f"--socket={data}/mariadbd.sock", f"--pid-file={data}/mariadbd.pid"),
                *("--max-connections=500", "--innodb-buffer-pool-size=256M"),
            ),
            port=settings.port("mariadb"),
        )
    )
    with step("started a private MariaDB"):
        supervisor.wait(["mariadb"], lambda _: is_listening(settings.port("mariadb")), seconds=60)


# --- RabbitMQ --------------------------------------------------------------------------------------------


def _ensure_rabbitmq(settings: Settings, supervisor: Supervisor) -> None:
    record = read_record(settings.root)
    if "rabbitmq_port" not in record:
        shared = settings.infrastructure == "auto" and _shared_rabbitmq()
        write_record(settings.root, rabbitmq_port=RABBITMQ_PORT if shared else settings.port("rabbitmq"))
    elif record["rabbitmq_port"] == RABBITMQ_PORT and not is_listening(RABBITMQ_PORT):
        raise LabError(f"the lab uses the RabbitMQ on port {RABBITMQ_PORT}, which does not run.")
    if read_record(settings.root)["rabbitmq_port"] == RABBITMQ_PORT:
        stamp = settings.folder("state", "virtual-host")
        if not stamp.exists():
            with step(f"made virtual host {settings.name} in the RabbitMQ on port {RABBITMQ_PORT}"):
                _make_virtual_host(settings)
            stamp.touch()
    else:
        _start_rabbitmq(settings, supervisor)


def _shared_rabbitmq() -> bool:
    if not is_listening(RABBITMQ_PORT):
        return False
    command = shutil.which("rabbitmqctl")
    asked = command and subprocess.run([command, "-q", "list_vhosts"], capture_output=True, check=False)
    if not asked or asked.returncode:
        say(
            f"a RabbitMQ runs on port {RABBITMQ_PORT} but rabbitmqctl cannot reach it; the lab starts its own"
        )
        return False
    return True


def _make_virtual_host(settings: Settings) -> None:
    log = settings.folder("log", "rabbitmqctl.log")
    name = settings.name
    # an interrupted start, or a wipe while the broker was down, may have left them
    for verb in (["delete_vhost", name], ["delete_user", name]):
        subprocess.run(["rabbitmqctl", "-q", *verb], capture_output=True, check=False)
    run(["rabbitmqctl", "-q", "add_vhost", name], log)
    run(["rabbitmqctl", "-q", "add_user", name, PASSWORD], log)
    run(["rabbitmqctl", "-q", "set_permissions", "-p", name, name, ".*", ".*", ".*"], log)


def _start_rabbitmq(settings: Settings, supervisor: Supervisor) -> None:
    if supervisor.running("rabbitmq"):
        return
    _require(settings, "rabbitmq-server", "rabbitmq-server")
    home = settings.folder("data", "rabbitmq")
    home.mkdir(parents=True, exist_ok=True)
    configuration = settings.folder("etc", "rabbitmq.conf")
    configuration.write_text(
        f"listeners.tcp.1 = {HOST}:{settings.port('rabbitmq')}\n"
        f"default_vhost = {settings.name}\n"
        f"default_user = {settings.name}\n"
        f"default_pass = {PASSWORD}\n"
        "disk_free_limit.absolute = 100MB\n"
    )
    plugins = settings.folder("etc", "rabbitmq-plugins")
    plugins.write_text("[].\n")
    supervisor.start(
        Daemon(
            "rabbitmq",
            (_rabbitmq_program(),),
            port=settings.port("rabbitmq"),
            environment={
                "HOME": str(home),
                "RABBITMQ_NODENAME": f"{settings.name}@localhost",
                "RABBITMQ_DIST_PORT": str(settings.port("rabbitmq-distribution")),
                "ERL_EPMD_PORT": str(settings.port("epmd")),
                "ERL_EPMD_ADDRESS": HOST,
                "RABBITMQ_BASE": str(home),
                "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
                "RABBITMQ_LOG_BASE": str(settings.folder("log")),
                "RABBITMQ_LOGS": "-",
                "RABBITMQ_CONFIG_FILE": str(configuration.with_suffix("")),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
                "RABBITMQ_PID_FILE": str(home / "pid"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            },
        )
    )
    with step("started a private RabbitMQ"):
        supervisor.wait(["rabbitmq"], lambda _: is_listening(settings.port("rabbitmq")), seconds=90)


def _rabbitmq_program() -> str:
    # Debian's command of this name switches to the user rabbitmq, who may not write below our folder
    unwrapped = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
    return str(unwrapped) if unwrapped.exists() else "rabbitmq-server"


# --- Debian's packages -----------------------------------------------------------------------------------


def _require(settings: Settings, program: str, package: str) -> None:
    if shutil.which(program):
        return
    if os.geteuid() or not shutil.which("apt-get"):
        raise LabError(f"{program} is not installed; as root: apt-get install {package}")
    log = settings.folder("log", "apt-get.log")
    # the run level keeps the package from starting a server by itself: the lab starts its own
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    with step(f"installed Debian's package {package}"):
        run(["apt-get", "-q", "update"], log, environment)
        run(["apt-get", "-q", "install", "-y", "--no-install-recommends", package], log, environment)
