"""blazar-status: is the installation ready for an upgrade?"""

from __future__ import annotations

import sys

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from blazar import conf as options
from blazar.policies import make_enforcer


def main() -> int:
    conf = cfg.ConfigOpts()
    options.register(conf)
    make_enforcer(conf)  # registers oslo.policy's options, which the check reads

    class Checks(upgradecheck.UpgradeCommands):
        """The checks of ``blazar-status upgrade check``."""

        _upgrade_checks = (("Policy file is YAML", (common_checks.check_policy_json, {"conf": conf})),)

    return int(upgradecheck.main(conf, "blazar", Checks(), sys.argv[1:]))
