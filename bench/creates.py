"""What a create costs on a small site: a manager and an API, on MariaDB or PostgreSQL, with RabbitMQ.

Clients create leases of one host at random times of the year, each one after another. The processor time of a
create tells more of the program than how many there are in a second: database, broker, cloud and clients are
on the same machine."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from growth import create, crowd, processor_times
from sites import MARIADB, POSTGRESQL, Site, require_servers

HOSTS = 50
CLIENTS = (1, 8, 32)
WARM_UP = 100
Row = Sequence[object]
HEAD: Row = (
    *("database", "clients", "leases/s", "median ms", "p99 ms", "refused"),
    *("manager CPU ms each", "API CPU ms each", "load"),
)


def prepare() -> None:
    require_servers("MARIADB", "POSTGRESQL", "RABBITMQ")


def table(
    scratch: Path, clients: Sequence[int] = CLIENTS, servers: Sequence[str] = (MARIADB, POSTGRESQL)
) -> list[Row]:
    rows: list[Row] = [HEAD]
    for number, server in enumerate(servers):
        with CreateSite(scratch / f"creates-{number}", HOSTS, server) as site:
            site.register_hosts()
            user, rng = site.user("demo"), random.Random(7)
            for _ in range(WARM_UP):
                create(user, rng)
            rows += [(site.database.get_backend_name(), *_measured(site, each)) for each in clients]
    return rows


class CreateSite(Site):
    """A site whose projects may have any number of leases."""

    def configuration(self) -> str:
        return super().configuration() + "[quota]\nlimits = leases:1000000\n"


def _measured(site: Site, clients: int) -> Iterator[object]:
    with processor_times([site.manager, site.api]) as used:
        taken, refused, seconds = crowd(site, clients)
    milliseconds = [1000 * taken[int(len(taken) * share)] for share in (0.5, 0.99)]
    yield clients
    yield from (round(value, 1) for value in (len(taken) / seconds, *milliseconds))
    yield refused
    yield from (round(1000 * cpu / len(taken), 2) for cpu in used)
    yield round(os.getloadavg()[0], 1)
