"""blazar-db-manage reconcile: compare what the database says with what is in the cloud, and repair it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from keystoneauth1.exceptions import ClientException
from oslo_config import cfg

from blazar import conf as options
from blazar.adapters.db import SqlDatabase, schema
from blazar.bootstrap.reconciliation import build_reconciliation
from blazar.domain.errors import CloudRefused, CloudUnavailable
from blazar.plugins import Plugins, load_plugins
from blazar.service.enabled_kinds import KindDisabled
from blazar.service.reconciliation import Finding, ReconciliationSettings

HELP = "compare leases, hosts and floating IPs with what is in Nova, Placement, Neutron and Keystone"
USAGE, AWAY = 2, 3


class NotReconciled(Exception):
    """The comparison could not be made; the message says why. Nothing was changed."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--dry-run", action="store_true", help="only tell what differs")
    what.add_argument(
        "--repair",
        action="store_true",
        help="make what active leases lack, and remove what is left over of leases that are over",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text by default")
    parser.add_argument(
        "--grace",
        type=_seconds,
        default=ReconciliationSettings().grace,
        metavar="SECONDS",
        help="how long to look at what has no lease before it is removed; 300 by default",
    )
    parser.add_argument(
        "--remove-many",
        action="store_true",
        help="remove what is left over even where most of what is there has no lease in this database",
    )


def reconcile(conf: cfg.ConfigOpts, database: SqlDatabase, arguments: Any) -> int:
    """Compare, or repair, and print what was found. Return the exit code: 1 where something differs still.

    Raises NotReconciled."""
    plugins = enabled_plugins(conf)
    try:
        findings = _findings(conf, database, plugins, arguments)
    except (ClientException, KindDisabled) as error:
        raise NotReconciled(f"The configuration cannot be used: {error}", USAGE) from error
    except (CloudUnavailable, CloudRefused) as error:
        raise NotReconciled(f"The comparison was not finished: {error}", AWAY) from error
    left = [finding for finding in findings if not finding.is_repaired]
    if arguments.format == "json":
        print(json.dumps({"differences": [_document(finding) for finding in findings]}, indent=2))
    else:
        for finding in findings:
            print(finding.sentence)
    _tell(f"{len(findings) - len(left)} differences were repaired, {len(left)} are there")
    return 1 if left else 0


def enabled_plugins(conf: cfg.ConfigOpts) -> Plugins:
    """Return the kinds of the configuration. Raises NotReconciled."""
    options.register(conf)
    try:
        return load_plugins(conf)
    except (LookupError, ValueError, cfg.Error) as error:
        raise NotReconciled(f"The configuration cannot be used: {error}", USAGE) from error


def _findings(
    conf: cfg.ConfigOpts, database: SqlDatabase, plugins: Plugins, arguments: Any
) -> Sequence[Finding]:
    schema.require(database.engine)
    settings = ReconciliationSettings(arguments.grace, arguments.remove_many)
    with build_reconciliation(conf, database, plugins, settings) as reconciliation:
        if arguments.repair:
            return reconciliation.repair(_go_on, _tell, waits=True)
        return reconciliation.compare(_go_on, _tell)


def _go_on() -> None:
    """Never end the work: the operator does."""


def _tell(progress: str) -> None:
    print(progress, file=sys.stderr, flush=True)


def _document(finding: Finding) -> dict[str, Any]:
    difference = finding.difference
    return {
        "sort": difference.sort,
        "subject": difference.subject,
        "lease_id": difference.lease_id or None,
        "reservation_id": difference.reservation_id or None,
        "expected": difference.expected,
        "found": difference.found,
        "is_repaired": finding.is_repaired,
        "reason": finding.reason or None,
    }


def _seconds(text: str) -> timedelta:
    seconds = int(text)
    if not 0 <= seconds <= 86400:
        raise ValueError(text)
    return timedelta(seconds=seconds)
