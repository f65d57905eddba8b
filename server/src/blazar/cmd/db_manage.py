"""Which schema has the database, and how is it brought to the one of this version: ``blazar-db-manage``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from oslo_config import cfg
from sqlalchemy.exc import ArgumentError

from blazar.adapters.db import schema
from blazar.adapters.db.engine import make_engine
from blazar.conf import database
from blazar.domain.errors import CloudUnavailable

NO_DOWNGRADE = (
    "There is no way down: the version before runs on this schema too. To give up data that only the new version "
    "has, restore a backup."
)


class Refused(Exception):
    """The command cannot do what it was asked to; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    conf = cfg.ConfigOpts()
    conf.register_opts(database.OPTIONS, database.GROUP)
    conf.register_cli_opt(cfg.SubCommandOpt("command", title="commands", handler=_add_commands))
    try:
        conf(sys.argv[1:] if argv is None else list(argv), project="blazar", prog="blazar-db-manage")
        _run(conf)
    except (cfg.Error, Refused, CloudUnavailable, CommandError) as error:
        print(f"blazar-db-manage: {error}", file=sys.stderr)
        return 1
    return 0


def _run(conf: Any) -> None:
    try:
        engine = make_engine(conf.database.connection)
    except (ValueError, ArgumentError, ImportError) as error:
        # Not the error's own words, which may show a password.
        raise Refused(f"[database] connection cannot be used ({type(error).__name__})") from error
    try:
        schema.with_database(engine, lambda engine: conf.command.run(schema.alembic_config(engine), conf.command))
    finally:
        engine.dispose()


def _refuse_unknown_schema(config: Config) -> None:
    found = schema.current(config.attributes["engine"])
    known = {revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in {None, *known}:
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


def _add_commands(subparsers: Any) -> None:
    def add(name: str, run: Callable[[Config, Any], None], help: str) -> argparse.ArgumentParser:
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

    revision = add("revision", _revision, "make a new revision (for developers)")
    revision.add_argument("-m", "--message", help="what it does")
    revision.add_argument("--autogenerate", action="store_true", help="from the difference to the tables")
    _add_sql(revision)


def _add_sql(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sql", action="store_true", help="print the SQL instead of running it")


if __name__ == "__main__":
    sys.exit(main())
