"""blazar-status: the check whether the installation is ready for an upgrade, and the programs that run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from blazar import conf as options
from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase, schema
from blazar.adapters.memory import MemoryDatabase
from blazar.api.views.services import service_view
from blazar.bootstrap.database import build_database
from blazar.cmd.imports import NotImported, lines
from blazar.cmd.process import tell_version
from blazar.conf import former
from blazar.domain.errors import BlazarError
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.enabled_kinds import require_kinds
from blazar.service.services import Services
from blazar.upstream.report import Verdict

UPSTREAM = cfg.StrOpt(
    "upstream-connection",
    secret=True,
    help="SQLAlchemy URL of a database of upstream Blazar that is to be imported: tell what is refused.",
)
COLUMNS = ("binary", "host", "state", "version", "events", "plans", "late_seconds", "seen_at")


class Checks(upgradecheck.UpgradeCommands):
    """The checks of ``blazar-status upgrade check``."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf

    @property
    def _upgrade_checks(self) -> tuple[tuple[str, Any], ...]:  # type: ignore[override]  # read only
        """Return names and checks; it is asked when the command line has been read."""
        usual = (
            ("Configuration", Checks.configuration),
            ("Policy file is YAML", (common_checks.check_policy_json, {"conf": self._conf})),
            ("Database schema", Checks.database_schema),
            ("Kinds that leases need", Checks.enabled_kinds),
        )
        return (
            (*usual, ("Import from upstream", Checks.upstream)) if self._conf.upstream_connection else usual
        )

    def configuration(self) -> Result:
        """Fail where a value is wrong; warn of options that are not read any more."""
        try:
            options.require_good_values(self._conf)
        except (cfg.Error, ValueError) as mistake:
            return Result(Code.FAILURE, str(mistake))
        told = "\n".join(map(str, former.removed(self._conf)))
        return Result(Code.WARNING, told) if told else Result(Code.SUCCESS)

    def database_schema(self) -> Result:
        """Fail where this version cannot work on the database."""
        return self._of_database(lambda database: None)

    def enabled_kinds(self) -> Result:
        """Fail where a lease that is not over needs a kind that is not enabled."""
        return self._of_database(lambda database: require_kinds(database, load_plugins(self._conf).kinds))

    def upstream(self) -> Result:
        """Warn where something would be refused by an import, and fail where that is not over."""
        try:
            found = list(lines(self._conf.upstream_connection, MemoryDatabase(), is_dry_run=True))
        except (BlazarError, NotImported) as failure:
            return Result(Code.FAILURE, str(failure))
        refused = [line for line in found if line.verdict is Verdict.REFUSED]
        if not refused:
            return Result(Code.SUCCESS)
        code = Code.FAILURE if any(line.is_lost for line in refused) else Code.WARNING
        return Result(code, "\n".join(line.sentence for line in refused))

    def _of_database(self, check: Callable[[SqlDatabase], None]) -> Result:
        try:
            with closing(build_database(self._conf)) as database:
                schema.require(database.engine)
                check(database)
        except (BlazarError, LookupError, ValueError, cfg.Error) as failure:
            return Result(Code.FAILURE, str(failure))
        return Result(Code.SUCCESS)


def main() -> int:
    words = sys.argv[1:]
    tell_version(words)
    conf = cfg.ConfigOpts()
    options.register(conf)
    conf.register_cli_opt(UPSTREAM)
    make_enforcer(conf)  # registers oslo.policy's options, which the check reads
    try:
        if "service" in words:
            return _list_services(conf, words)
        return int(upgradecheck.main(conf, "blazar", Checks(conf), words))
    except (cfg.Error, BlazarError, LookupError, ValueError) as refusal:
        print(f"blazar-status: {refusal}", file=sys.stderr)
        return 2


def _list_services(conf: cfg.ConfigOpts, words: Sequence[str]) -> int:
    """Print the programs that the database knows of; it needs neither an API nor a manager that runs."""
    conf.register_cli_opt(cfg.SubCommandOpt("command", handler=_add_services))
    conf(list(words), project="blazar", prog="blazar-status")
    with closing(build_database(conf)) as database:
        schema.require(database.engine)
        found = [dict(service_view(each)) for each in Services(database, SystemClock()).list()]
    if conf.command.json:
        print(json.dumps({"services": found}, indent=2))
    else:
        print(_table([{name: each[name] for name in COLUMNS} for each in found]))
    return 0


def _add_services(subparsers: Any) -> None:
    services = subparsers.add_parser(
        "service", help="show the managers and what tells subscribers, and whether they run"
    )
    services.add_argument("verb", choices=["list"])
    services.add_argument("--json", action="store_true", help="print JSON instead of a table")


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows below the names of their columns."""
    lines = [COLUMNS, *(["-" if value is None else str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
