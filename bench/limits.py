"""What a lease would take if nothing had to be decided: an answer over HTTP, a call over RabbitMQ, and a
commit of its rows, each without any of the service's code."""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests
from oslo_config import cfg
from sites import API_THREADS, BIN, HOST, RABBITMQ, Program, Site, eventually, free_port
from sqlalchemy import MetaData, Table, create_engine, insert, select

from blazar.broker import oslo_messaging, rpc_transport

ROUNDS = 200
WARM_UP = 10
TABLES = ("leases", "reservations", "allocations", "events")
HERE = Path(__file__)
Row = Sequence[object]


def table(scratch: Path, ours: Site, posts: Sequence[list[float]]) -> list[Row]:
    """Compare the seconds of ``posts``, ours and upstream's, with the least that each step of one takes."""
    found = {"HTTP echo": _http(scratch), "RPC echo": _rpc(scratch), "commit of the rows": _commit(ours)}
    medians = {what: statistics.median(taken) * 1000 for what, taken in found.items()}
    medians["all three together"] = sum(medians.values())
    ratios = [statistics.median(taken) * 1000 for taken in posts]
    rows = [(what, round(ms, 2), *(round(each / ms, 1) for each in ratios)) for what, ms in medians.items()]
    return [("step", "median ms", "our POST / this", "upstream's POST / this"), *rows]


def _timed(ask: Callable[[], object]) -> list[float]:
    taken = []
    for number in range(ROUNDS + WARM_UP):
        begun = time.perf_counter()
        ask()
        if number >= WARM_UP:
            taken.append(time.perf_counter() - begun)
    return taken


def _http(scratch: Path) -> list[float]:
    """Ask an application on gunicorn that returns what it gets."""
    place = f"{HOST}:{free_port()}"
    words = ["--bind", place, "--workers", 1, "--threads", API_THREADS, "--no-control-socket"]
    words += ["--chdir", HERE.parent, "limits:application"]
    with requests.Session() as session, _running(Program("echo", [BIN / "gunicorn", *words], scratch)):
        eventually("an answer", lambda: session.post(f"http://{place}", json={}, timeout=5).ok, 120)
        return _timed(lambda: session.post(f"http://{place}", json={"lease": "x" * 400}, timeout=30))


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answer with the body of the request."""
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _rpc(scratch: Path) -> list[float]:
    """Call a process that returns what it gets."""
    topic = f"blazar_bench_{uuid4().hex[:10]}"
    with _running(Program("rpc-echo", [BIN / "python", HERE, topic], scratch)):
        transport = _transport(topic)
        client = oslo_messaging.get_rpc_client(transport, oslo_messaging.Target(topic=topic), timeout=60)
        eventually("an answer", lambda: client.prepare(timeout=2).call({}, "echo", lease={}), 120)
        taken = _timed(lambda: client.call({}, "echo", lease={"lease": "x" * 400}))
        transport.cleanup()
    return taken


class Echo:
    def echo(self, context: object, lease: dict[str, Any]) -> dict[str, Any]:
        return lease or {"lease": ""}


def _transport(exchange: str) -> Any:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[])
    rpc_transport(conf)  # registers the options of oslo.messaging
    conf.set_override("transport_url", RABBITMQ)
    conf.set_override("control_exchange", exchange)
    conf.set_override("amqp_auto_delete", True, "oslo_messaging_rabbit")
    return rpc_transport(conf)


def _serve(topic: str) -> None:
    target = oslo_messaging.Target(topic=topic, server=HOST)
    server = oslo_messaging.get_rpc_server(_transport(topic), target, [Echo()])
    server.start()
    threading.Event().wait()


def _commit(ours: Site) -> list[float]:
    """Write the rows of a lease of one host again and again, each time in a transaction, into tables of their
    own."""
    engine = create_engine(ours.database)
    found = MetaData()
    try:
        with engine.begin() as connection:
            rows: dict[str, list[dict[str, Any]]] = {}
            lease = connection.exec_driver_sql(
                "SELECT id FROM leases WHERE name LIKE 'seed-%%' LIMIT 1"
            ).scalar()
            for name in TABLES:
                source = Table(name, MetaData(), autoload_with=connection, resolve_fks=False)
                key = source.c.id if name == "leases" else source.c.lease_id
                rows[name] = [
                    dict(row) for row in connection.execute(select(source).where(key == lease)).mappings()
                ]
                connection.exec_driver_sql(f"CREATE TABLE bench_{name} LIKE {name}")
                Table(f"bench_{name}", found, autoload_with=connection, resolve_fks=False)

        def write() -> None:
            with engine.begin() as connection:
                for name in TABLES:
                    again = [{**row, "id": str(uuid4())} for row in rows[name]]
                    connection.execute(insert(found.tables[f"bench_{name}"]), again)

        return _timed(write)
    finally:
        engine.dispose()


@contextmanager
def _running(program: Program) -> Iterator[None]:
    program.start()
    try:
        yield
    finally:
        program.kill()


if __name__ == "__main__":
    _serve(sys.argv[1])
