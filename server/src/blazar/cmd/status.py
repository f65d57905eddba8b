"""blazar-status: the check whether the installation is ready for an upgrade."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from blazar import conf as options
from blazar.adapters.db import SqlDatabase, schema
from blazar.bootstrap import build_database
from blazar.cmd.process import tell_version
from blazar.domain.errors import BlazarError
from blazar.plugins import load_plugins
from blazar.policies import make_enforcer
from blazar.service.enabled_kinds import require_kinds


class Checks(upgradecheck.UpgradeCommands):
    """The checks of ``blazar-status upgrade check``."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._upgrade_checks = (
            ("Policy file is YAML", (common_checks.check_policy_json, {"conf": conf})),
            ("Database schema", Checks.database_schema),
            ("Kinds that leases need", Checks.enabled_kinds),
        )

    def database_schema(self) -> Result:
        """Fail where this version cannot work on the database."""
        return self._of_database(lambda database: None)

    def enabled_kinds(self) -> Result:
        """Fail where a lease that is not over needs a kind that is not enabled."""
        return self._of_database(lambda database: require_kinds(database, load_plugins(self._conf).kinds))

    def _of_database(self, check: Callable[[SqlDatabase], None]) -> Result:
        try:
            with closing(build_database(self._conf)) as database:
                schema.require(database.engine)
                check(database)
        except (BlazarError, LookupError) as failure:
            return Result(Code.FAILURE, str(failure))
        return Result(Code.SUCCESS)


def main() -> int:
    tell_version(sys.argv[1:])
    conf = cfg.ConfigOpts()
    options.register(conf)
    make_enforcer(conf)  # registers oslo.policy's options, which the check reads
    return int(upgradecheck.main(conf, "blazar", Checks(conf), sys.argv[1:]))
