"""blazar-db-manage: show and upgrade the database's schema, and mend what is stored there or in the cloud."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from keystoneauth1.exceptions import ClientException
from oslo_config import cfg
from sqlalchemy import Engine
from sqlalchemy.exc import ArgumentError

from blazar import conf as options
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase, schema
from blazar.adapters.db.engine import DriverMissing, make_engine
from blazar.bootstrap.cloud import build_cloud
from blazar.cmd.archive import HELP as ARCHIVE_HELP
from blazar.cmd.archive import NotArchived, archive_file
from blazar.cmd.imports import HELP as IMPORT_HELP
from blazar.cmd.imports import NotImported, take_over
from blazar.cmd.imports import add_arguments as add_import_arguments
from blazar.cmd.process import VERSION
from blazar.cmd.reconcile import HELP, NotReconciled, add_arguments, enabled_plugins, reconcile
from blazar.conf import database
from blazar.domain.errors import BlazarError, Busy, CloudUnavailable
from blazar.kinds.registered_hosts.pool import POOL
from blazar.service.ports import Cloud
from blazar.service.recovery import retry_lease
from blazar.service.retention import archive, count_over, purge

NO_DOWNGRADE = (
    "There is no way down: the version before runs on this schema too. To give up data that only the new "
    "version has, restore a backup."
)

PROVIDER_REMOVED = (
    "The provider blazar_{host} is removed. nova-compute remembers it for [compute] "
    "resource_provider_association_refresh seconds (300 by default; 0 is for ever), and servers that are "
    "booted on {host} fail until then. To end this at once, restart its nova-compute or send it SIGHUP."
)


class Refused(Exception):
    """The command is refused; the message says why."""


class NoDatabase(Refused):
    """Neither the configuration nor an argument names a database, or its driver is not installed. Exit
    code 2."""


def main(argv: Sequence[str] | None = None) -> int:
    conf = cfg.ConfigOpts()
    conf.register_opts(database.OPTIONS, database.GROUP)
    conf.register_cli_opt(
        cfg.StrOpt(
            "connection", secret=True, help="SQLAlchemy URL of the database; else as the configuration says."
        )
    )
    conf.register_cli_opt(cfg.SubCommandOpt("command", title="commands", handler=_add_commands))
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        conf(words, project="blazar", prog="blazar-db-manage", version=VERSION)
        for option in database.OPTIONS:
            _ = conf.database[option.dest]  # oslo.config looks at a value when it is read
        return _run(conf)
    except (cfg.Error, Refused, NotArchived, NotImported, Busy, CloudUnavailable, CommandError) as error:
        print(f"blazar-db-manage: {error}", file=sys.stderr)
        return 2 if isinstance(error, NoDatabase | cfg.Error) else 1
    except NotReconciled as error:
        print(f"blazar-db-manage: {error}", file=sys.stderr)
        return error.exit_code


def _run(conf: Any) -> int:
    """Return the exit code, which is 0 unless the command says otherwise."""
    code = 0
    try:
        engine = make_engine(_connection(conf))
    except DriverMissing as error:
        raise NoDatabase(str(error)) from error
    except (ValueError, ArgumentError, ImportError) as error:
        # Not the error's own words, which may show a password.
        raise Refused(f"[database] connection cannot be used ({type(error).__name__})") from error

    def run(engine: Engine) -> None:
        nonlocal code
        config = schema.alembic_config(engine)
        config.attributes["conf"] = conf
        code = conf.command.run(config, conf.command) or 0

    try:
        schema.with_database(engine, run)
    finally:
        engine.dispose()
    return code


def _connection(conf: Any) -> str:
    """Return the URL that the operator gave. The default would be a new file in whatever folder this runs in.

    Raises NoDatabase."""
    is_given = conf.get_location("connection", "database").location is not cfg.Locations.opt_default
    if not conf.connection and not is_given and conf.command.run not in WITHOUT_DATABASE:
        raise NoDatabase(
            "Say which database: --config-file with [database] connection, or --connection. "
            "(No configuration was found that has one; looked at: "
            f"{', '.join(conf.config_file) or 'no file'}.)"
        )
    connection: str = conf.connection or conf.database.connection
    return connection


def _refuse_unknown_schema(config: Config) -> None:
    found = schema.current(config.attributes["engine"])
    if found not in {None, *schema.known_revisions()}:
        raise Refused(f"The database has revision {found}: that of a newer version, or of another program.")


# ---------------------------------------------------------------------------------------------- the commands


def _current(config: Config, _: Any) -> None:
    command.current(config, verbose=True)


def _history(config: Config, _: Any) -> None:
    command.history(config, verbose=True)


def _branches(config: Config, _: Any) -> None:
    command.branches(config, verbose=True)
    heads = ScriptDirectory.from_config(config).get_heads()
    if len(heads) != 1:
        raise Refused(f"The revisions must end in one head, but there are {', '.join(sorted(heads))}.")


def _upgrade(config: Config, arguments: Any) -> None:
    if arguments.delta is not None and arguments.revision is not None:
        raise Refused("Give a revision or --delta, not both.")
    if arguments.delta is not None and arguments.delta < 1:
        raise Refused(NO_DOWNGRADE)
    target = arguments.revision or ("head" if arguments.delta is None else f"+{arguments.delta}")
    if not arguments.sql:
        _refuse_unknown_schema(config)
    config.attributes["on_version_apply"] = _tell
    command.upgrade(config, target, sql=arguments.sql)


def _tell(*, step: Any, **_: Any) -> None:
    if step.up_revision is not None:
        print(f"{step.up_revision.revision}: {step.up_revision.doc}")


def _downgrade(_config: Config, _: Any) -> None:
    raise Refused(NO_DOWNGRADE)


def _stamp(config: Config, arguments: Any) -> None:
    command.stamp(config, arguments.revision, sql=arguments.sql)


def _revision(config: Config, arguments: Any) -> None:
    command.revision(config, arguments.message, autogenerate=arguments.autogenerate, sql=arguments.sql)


WITHOUT_DATABASE = (_history, _branches, _downgrade)


def _retry_lease(config: Config, arguments: Any) -> None:
    database = SqlDatabase(config.attributes["engine"].url)
    try:
        lease = retry_lease(database, SystemClock(), arguments.lease)
    except CloudUnavailable:
        raise
    except BlazarError as error:
        raise Refused(error.message) from error
    finally:
        database.close()
    print(f"Lease {lease.id} is {lease.status}: a manager tries its start again at once.")


def _remove_provider(config: Config, arguments: Any) -> None:
    host = arguments.hypervisor_hostname
    database = SqlDatabase(config.attributes["engine"].url)
    try:
        with database.read() as uow:
            registered = uow.resources.find(POOL, host)
    finally:
        database.close()
    if registered is not None:
        raise Refused(
            f"{host} is a registered host, whose reservations need the provider. First run: openstack "
            f"reservation host delete {registered.id}"
        )
    try:
        removed = _cloud(config.attributes["conf"]).placement.remove_reservation_provider(host)
    except CloudUnavailable:
        raise
    except BlazarError as error:
        raise Refused(error.message) from error
    if not removed:
        raise Refused(f"There is no provider blazar_{host}.")
    print(PROVIDER_REMOVED.format(host=host))


def _cloud(conf: Any) -> Cloud:
    options.register(conf)
    try:
        return build_cloud(conf)
    except ClientException as error:
        raise Refused(f"The section [cloud] of the configuration cannot be used: {error}") from error


def _purge(config: Config, arguments: Any) -> None:
    database, clock = SqlDatabase(config.attributes["engine"].url), SystemClock()
    before = clock.now() - timedelta(days=arguments.older_than)
    try:
        total = count_over(database, before)
        if arguments.dry_run:
            print(f"{total} leases are over for more than {arguments.older_than} days. Nothing was removed.")
            return
        removed = _told(purge(database, clock, before), total)
    finally:
        database.close()
    print(f"{removed} leases were removed that were over for more than {arguments.older_than} days.")


def _archive(config: Config, arguments: Any) -> None:
    database, clock = SqlDatabase(config.attributes["engine"].url), SystemClock()
    before = clock.now() - timedelta(days=arguments.older_than)
    try:
        total = count_over(database, before)
        if arguments.dry_run:
            print(f"{total} leases are over for more than {arguments.older_than} days. Nothing was moved.")
            return
        kinds = enabled_plugins(config.attributes["conf"]).kinds
        with archive_file(arguments.to, kinds) as keep:
            removed = _told(archive(database, clock, before, keep), total)
    finally:
        database.close()
    print(f"{removed} leases are in {arguments.to} that were over for more than {arguments.older_than} days.")


def _told(batches: Iterator[int], total: int) -> int:
    """Return the sum, and tell how far it is from time to time."""
    done = told = 0
    for some in batches:
        done += some
        if done - told >= TELL_EVERY:
            told = done
            print(f"{done} of {total} leases", flush=True)
    return done


def _import(config: Config, arguments: Any) -> int:
    database = SqlDatabase(config.attributes["engine"].url)
    try:
        schema.require(database.engine)
        return take_over(arguments.source, database, arguments.dry_run)
    finally:
        database.close()


def _reconcile(config: Config, arguments: Any) -> int:
    database = SqlDatabase(config.attributes["engine"].url)
    try:
        return reconcile(config.attributes["conf"], database, arguments)
    finally:
        database.close()


TELL_EVERY = 1000
"""Leases between two lines that tell how far a purge is."""


def _days(text: str) -> int:
    days = int(text)
    if not 1 <= days <= 36500:
        raise ValueError(text)
    return days


def _add_commands(subparsers: Any) -> None:
    def add(name: str, run: Callable[[Config, Any], int | None], help: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = subparsers.add_parser(name, help=help)
        parser.set_defaults(run=run)
        return parser

    add("current", _current, "show the revision that the database has")
    add("history", _history, "list all revisions")
    add("branches", _branches, "show where revisions branch; they must not")
    add("check_migration", _branches, "the same as branches")

    upgrade = add("upgrade", _upgrade, "bring the database to the newest revision, or to the one given")
    upgrade.add_argument("--delta", type=int, help="go on by this many revisions")
    _add_sql(upgrade)
    upgrade.add_argument("revision", nargs="?", help="the revision to reach; head if none is given")

    downgrade = add("downgrade", _downgrade, "refused: schemas only go forward")
    downgrade.add_argument("--delta", type=int)
    _add_sql(downgrade)
    downgrade.add_argument("revision", nargs="?")

    stamp = add("stamp", _stamp, "note that the database has a revision, without changing anything else")
    _add_sql(stamp)
    stamp.add_argument("revision")

    retry = add("retry-lease", _retry_lease, "try the start of a lease in ERROR again")
    retry.add_argument("lease", help="the id of the lease")

    remove = add(
        "remove-provider",
        _remove_provider,
        "remove what a host that is no longer registered keeps in Placement; Nova takes minutes to notice",
    )
    remove.add_argument("hypervisor_hostname", help="the host's name in Nova")

    add_arguments(add("reconcile", _reconcile, HELP))
    add_import_arguments(add("import", _import, IMPORT_HELP))

    _add_age(add("purge", _purge, "remove leases that were over long ago, and all that belongs to them"))
    archive_over = add("archive", _archive, ARCHIVE_HELP)
    _add_age(archive_over)
    archive_over.add_argument("--to", type=Path, required=True, metavar="FILE", help="what is there stays")

    revision = add("revision", _revision, "make a new revision (for developers)")
    revision.add_argument("-m", "--message", help="what it does")
    revision.add_argument("--autogenerate", action="store_true", help="from the difference to the tables")
    _add_sql(revision)


def _add_age(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than", type=_days, required=True, metavar="DAYS", help="days since their end, at least 1"
    )
    parser.add_argument("--dry-run", action="store_true", help="only tell how many there are")


def _add_sql(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sql", action="store_true", help="print the SQL instead of running it")


if __name__ == "__main__":
    sys.exit(main())
