"""Upstream Blazar beside us: installed from the package index, configured as its documentation says, and run
as it comes."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sites import BIN, HOST, PASSWORD, ROOT, Site, Unavailable
from sqlalchemy import create_engine, insert

from blazar.upstream import tables

RELEASE = "18.0.0"
FOLDER = ROOT / "var" / "bench" / f"upstream-{RELEASE}"
REQUIREMENTS = (f"blazar=={RELEASE}", "PyMySQL", "gunicorn")
"""Its API is a WSGI application here, as ours: its program blazar-api ends by itself once it listens."""
LEASES = 10
"""The leases of the seed on each host."""
SLOT = timedelta(days=3)
"""The time from one of them to the next."""
AHEAD = timedelta(days=2)
"""The seed begins so much later than now, so that none of its leases starts during a measurement."""
BUSY = (AHEAD + SLOT, AHEAD + LEASES * SLOT)
"""From when until when the seed's share of the hosts is in use at each moment: its hosts begin one after
another."""


def install() -> Path:
    """Install upstream into an environment of its own unless it is there. Return its programs' folder."""
    stamp, wanted = FOLDER / ".made-of", "\n".join(REQUIREMENTS)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", FOLDER], check=True)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            FOLDER / "bin" / "python",
        ]
        done = subprocess.run(
            [*pip, "install", "--quiet", "--no-compile", *REQUIREMENTS], capture_output=True, text=True
        )
        if done.returncode:
            last = next((line for line in reversed(done.stderr.splitlines()) if "ERROR" in line), "")
            raise Unavailable(f"upstream Blazar {RELEASE} cannot be installed from the package index: {last}")
        stamp.write_text(wanted)
    return FOLDER / "bin"


class Upstream(Site):
    """A site with upstream's programs."""

    label = "upstream"
    bin = FOLDER / "bin"

    def connection(self) -> str:
        return self.database.set(drivername="mysql+pymysql").render_as_string(hide_password=False)

    def cloud_options(self) -> str:
        return "\n".join(
            (
                "os_auth_protocol = http",
                f"os_auth_host = {HOST}",
                f"os_auth_port = {self.cloud_url.rpartition(':')[2]}",
                # An empty prefix gives a URL with two slashes, which the sandbox's server refuses.
                "os_auth_prefix = .",
                "os_auth_version = v3",
                "os_admin_username = blazar",
                f"os_admin_password = {PASSWORD}",
                "os_admin_project_name = service",
            )
        )


def seed(upstream: Site, ours: Site, occupied: float) -> None:
    """Give both the same leases of the future: rows in upstream's database, which our import then reads.

    Each lease has one host. Each host is in use for the share ``occupied`` of the time."""
    engine = create_engine(upstream.database)
    owner = upstream.user("demo").ids
    now = datetime.now(UTC).replace(second=0, microsecond=0, tzinfo=None)  # noqa: TID251 - not the service's time
    with engine.begin() as connection:
        rows: dict[Any, list[dict[str, Any]]] = {}
        for table, row in _rows(upstream.hosts, occupied, now, owner):
            rows.setdefault(table, []).append({"created_at": now, **row})
        for table, found in rows.items():
            connection.execute(insert(table), found)
    engine.dispose()
    source = upstream.database.render_as_string(hide_password=False)
    words = [BIN / "blazar-db-manage", "--connection", ours.connection(), "import", "--from", source]
    done = subprocess.run(words, capture_output=True, text=True)
    if len(ours.user("demo").leases()) != upstream.hosts * LEASES:
        raise RuntimeError(f"the leases were not imported: {done.stdout[-2000:]} {done.stderr[-2000:]}")


def _rows(
    hosts: int, occupied: float, now: datetime, owner: tuple[str, str]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the rows of the leases. Each host begins a little later than the one before it: if all began
    together, all would be in use at the same times, and with a large share none be free most of the time."""
    rng = random.Random(7)
    for number in range(hosts * LEASES):
        turn, host = divmod(number, hosts)
        begin = now + AHEAD + (turn + host / hosts + (1 - occupied) * rng.random()) * SLOT
        start = begin.replace(second=0, microsecond=0)
        end = (begin + SLOT * occupied).replace(second=0, microsecond=0)
        lease, reservation, *ids = (str(UUID(int=rng.getrandbits(128), version=4)) for _ in range(8))
        yield (
            tables.leases,
            {
                "id": lease,
                "name": f"seed-{number}",
                "user_id": owner[0],
                "project_id": owner[1],
                "start_date": start,
                "end_date": end,
                "trust_id": ids[5],
                "status": "PENDING",
                "degraded": False,
            },
        )
        yield (
            tables.reservations,
            {
                "id": reservation,
                "lease_id": lease,
                "resource_id": ids[0],
                "resource_type": "physical:host",
                "status": "pending",
                "missing_resources": False,
                "resources_changed": False,
            },
        )
        yield (
            tables.host_reservations,
            {
                "id": ids[0],
                "reservation_id": reservation,
                "count_range": "1-1",
                "hypervisor_properties": "",
                "resource_properties": "",
                "before_end": "default",
            },
        )
        yield (
            tables.host_allocations,
            {
                "id": ids[1],
                "reservation_id": reservation,
                "compute_host_id": str(host + 1),
            },
        )
        events = {"start_lease": start, "before_end_lease": end - timedelta(hours=1), "end_lease": end}
        for id_, (event_type, time) in zip(ids[2:5], events.items(), strict=True):
            row = {"id": id_, "lease_id": lease, "event_type": event_type, "time": time, "status": "UNDONE"}
            yield tables.events, row
