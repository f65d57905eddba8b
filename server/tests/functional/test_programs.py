"""What every program of the service tells about itself and about its installation."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from oslo_config import generator, validator
from oslo_upgradecheck.upgradecheck import Code

from blazar.adapters.clock import SystemClock
from blazar.adapters.db import SqlDatabase, schema
from blazar.adapters.db.engine import make_engine, parse_url
from blazar.cmd import api, db_manage, manager, standalone, status, webhooks
from blazar.domain.lease.lease import Lease, Reservation
from blazar.domain.time import Interval
from blazar_sandbox import __main__ as sandbox

from .upstream_rows import UpstreamRows

ROOT = Path(__file__).parents[3]
PROGRAMS = {
    "blazar-api": api.main,
    "blazar-manager": manager.main,
    "blazar-webhooks": webhooks.main,
    "blazar-db-manage": db_manage.main,
    "blazar-status": status.main,
    "blazar-standalone": standalone.main,
    "blazar-sandbox": sandbox.main,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_tells_its_version(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "--version"])
    with pytest.raises(SystemExit) as ending:
        PROGRAMS[program]()
    assert not ending.value.code
    distribution = "blazar-sandbox" if program == "blazar-sandbox" else "blazar"
    assert capsys.readouterr().out == f"{metadata.version(distribution)}\n"


Check = Callable[..., tuple[int, dict[str, tuple[int, str | None]]]]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/blazar.db"


@pytest.fixture
def check(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Check:
    """Run ``blazar-status upgrade check``; return its exit code, and the result of each check by name."""

    def run(plugins: str = "physical.host.plugin", connection: str = url, upstream: str = "") -> Any:
        path = tmp_path / "blazar.conf"
        path.write_text(f"[database]\nconnection = {connection}\n[manager]\nplugins = {plugins}\n")
        source = ["--upstream-connection", upstream] if upstream else []
        words = ["blazar-status", "--config-file", str(path), *source, "upgrade", "check", "--json"]
        monkeypatch.setattr(sys, "argv", words)
        code = status.main()
        found = json.loads(capsys.readouterr().out)["checks"]
        return code, {each["check"]: (each["result"], each["details"]) for each in found}

    return run


def test_an_installation_that_is_ready(check: Check, url: str) -> None:
    schema.upgrade(url)
    code, found = check()
    assert code == Code.SUCCESS
    assert set(found) == {
        "Configuration",
        "Policy file is YAML",
        "Database schema",
        "Kinds that leases need",
    }


@pytest.mark.parametrize(
    ("revision", "sentence"),
    [(None, "it has no schema: run blazar-db-manage upgrade"), ("0001", "it has the schema 0001")],
)
def test_a_schema_that_is_missing_or_too_old(
    check: Check, url: str, revision: str | None, sentence: str
) -> None:
    if revision:
        schema.upgrade(url, revision)
    code, found = check()
    assert code == Code.FAILURE
    result, details = found["Database schema"]
    assert result == Code.FAILURE
    assert sentence in str(details)


def test_a_database_that_is_away(check: Check) -> None:
    code, found = check(connection="mysql+pymysql://blazar:secret@127.0.0.1:9/blazar")
    assert code == Code.FAILURE
    assert "secret" not in str(found)


START_SECONDS = 300
"""In which a program has started, beside all that computes at the same time."""
MISSING = "postgresql+psycopg2://blazar:secret@127.0.0.1:9/blazar"
"""A database with a driver that is not installed."""


@pytest.mark.parametrize(
    ("program", "words"),
    [("blazar-manager", ()), ("blazar-webhooks", ()), ("blazar-db-manage", ("upgrade",))],
)
def test_a_driver_that_is_missing(program: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "blazar.conf"
    path.write_text(f"[database]\nconnection = {MISSING}\n")
    started = [str(Path(sys.executable).with_name(program)), "--config-file", str(path), *words]
    ended = subprocess.run(started, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert ended.returncode == 2
    assert ended.stderr.endswith(
        f"{program}: [database] connection needs a driver that is not installed: psycopg2. The extra "
        "blazar[postgresql] has one.\n"
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("connection", "told"),
    [
        ("secret", "[database] connection is not the address of a database"),
        (
            "mariadb+nothing://blazar:secret@host/blazar",
            "[database] connection names a driver that is not known: mariadb+nothing. "
            "With mariadb:// alone, the usual one is taken.",
        ),
        (
            "sqlite+nothing:///blazar.db",
            "[database] connection names a driver that is not known: sqlite+nothing. "
            "With sqlite:// alone, the usual one is taken.",
        ),
    ],
)
def test_a_connection_that_means_nothing(connection: str, told: str) -> None:
    with pytest.raises((ValueError, LookupError)) as refused:
        make_engine(connection)
    assert str(refused.value) == told


def test_a_driver_that_is_missing_is_seen_before_an_upgrade(check: Check) -> None:
    code, found = check(connection=MISSING)
    assert code == Code.FAILURE
    assert "blazar[postgresql]" in str(found["Database schema"][1])


def test_a_kind_that_leases_need(check: Check, url: str) -> None:
    schema.upgrade(url)
    now = SystemClock().now()
    reservation = Reservation("r", "lease-of-instances", "", "virtual:instance", {})
    lease = Lease(
        "lease-of-instances", "name", "user", "project",
        Interval(now, now + timedelta(hours=1)), reservations=(reservation,),
    )  # fmt: skip
    database = SqlDatabase(url)
    try:
        database.transact(lambda uow: uow.leases.add(lease, now))
    finally:
        database.close()
    code, found = check()
    assert code == Code.FAILURE
    assert "lease-of-instances" in str(found["Kinds that leases need"][1])
    assert check(plugins="physical.host.plugin,virtual.instance.plugin")[0] == Code.SUCCESS


def test_what_an_import_would_refuse(check: Check, url: str, tmp_path: Path) -> None:
    schema.upgrade(url)
    rows = UpstreamRows(parse_url(f"sqlite:///{tmp_path}/upstream.db"), SystemClock().now())
    rows.create_tables()
    rows.host(1)
    source, name = str(rows.url), "Import from upstream"
    assert check(upstream=source)[1][name] == (Code.SUCCESS, None)
    over = rows.lease("TERMINATED", -2, -1)
    rows.reservation(over, "network", "TERMINATED")
    code, found = check(upstream=source)
    assert (code, found[name][0]) == (Code.WARNING, Code.WARNING)
    assert over in str(found[name][1])
    active = rows.lease("ACTIVE", -1, 1)
    rows.reservation(active, "network", "ACTIVE")
    code, found = check(upstream=source)
    assert (code, found[name][0]) == (Code.FAILURE, Code.FAILURE)
    assert active in str(found[name][1])
    rows.close()
    code, found = check(upstream="mysql://user:secret@127.0.0.1:1/db")
    assert (code, found[name][0]) == (Code.FAILURE, Code.FAILURE)
    assert "secret" not in str(found)


def _commands_of_the_page() -> list[list[str]]:
    page = (ROOT / "docs/operator/configuration.md").read_text()
    return [line.split() for line in re.findall(r"^oslo-config-.*$", page, re.MULTILINE)]


def test_the_sample_and_the_check_of_the_page_know_how_to_sign_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, checking = _commands_of_the_page()
    generator.main(sample[1:])
    written = capsys.readouterr().out
    section = written.partition("\n[cloud]\n")[2].partition("\n[")[0]
    for name in ("auth_url", "password", "application_credential_secret", "cafile", "region_name"):
        assert f"\n#{name} = " in section
    path = tmp_path / "blazar.conf"
    path.write_text("[cloud]\nauth_type = password\nauth_url = http://keystone/v3\nusername = blazar\n")
    words = [str(path) if word == "/etc/blazar/blazar.conf" else word for word in checking]
    monkeypatch.setattr(sys, "argv", words)
    assert not validator.main()
    path.write_text("[cloud]\nauth_ulr = http://keystone/v3\n")
    assert validator.main()
