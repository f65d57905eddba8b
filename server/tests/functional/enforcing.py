"""HTTP services that decide about leases, as operators run them: two that differ in what they want, and some
that are broken."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

CHECKS = ("/usage/check-create", "/usage/check-update")
SIZES = {"VCPU": "vcpus", "MEMORY_MB": "memory_mb", "DISK_GB": "local_gb"}


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    """Seconds between two bytes of the body."""


Decide = Callable[[Asked], Answer]


def as_json(status: int, **body: Any) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


def yes(asked: Asked) -> Answer:
    return Answer(204)


class Deciding:
    """A service at ``url``; ``decide`` may be replaced at any time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []
        self.decide: Decide = yes
        self.over = threading.Event()
        self.answers_again = threading.Event()

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.asked]

    def hang(self, asked: Asked) -> Answer:
        """Answer when the service does so again, or the test is over."""
        self.answers_again.wait(60)
        return Answer(204)


@contextmanager
def deciding() -> Iterator[Deciding]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            asked = Asked(self.path, dict(self.headers), json.loads(content))
            service.asked.append(asked)
            answer = service.decide(asked)
            try:
                self._send(answer)
            except OSError:
                self.close_connection = True  # the caller waits no longer

        def _send(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if not answer.drip:
                self.wfile.write(answer.body)
                return
            for byte in answer.body:
                self.wfile.write(bytes([byte]))
                if service.over.wait(answer.drip):
                    return

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service = Deciding(f"http://127.0.0.1:{server.server_address[1]}/usage/")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        service.answers_again.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Plain:
    """Decides as a service for upstream's filter does: 204, or 403 with ``message``."""

    def __init__(self, token: str, most_hosts: int) -> None:
        self.token = token
        self.most_hosts = most_hosts
        self.ended: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        if asked.headers.get("X-Auth-Token") != self.token:
            return Answer(401)
        lease = asked.body["lease"]
        assert set(asked.body["context"]) == {"user_id", "project_id", "auth_url", "region_name"}
        assert lease["start_date"] < lease["end_date"]
        match asked.path:
            case "/usage/check-create":
                assert "current_lease" not in asked.body
            case "/usage/check-update":
                assert asked.body["current_lease"]["id"]
            case "/usage/on-end":
                self.ended.append(lease["id"])
                return Answer(204)
            case _:
                return Answer(404)
        hosts = sum(len(each["allocations"]) for each in lease["reservations"])
        if hosts > self.most_hosts:
            return as_json(403, message=f"{hosts} hosts are more than {self.most_hosts}.")
        return Answer(204)


class Credits:
    """Decides as a service of resource-hour credits does: 204, or 403 with ``error``. It is as strict as that
    one about what it is sent."""

    def __init__(self, token: str, credits: float) -> None:
        self.token = token
        self.credits = credits
        """Hours of one VCPU."""
        self.spent: dict[str, float] = {}
        self.complaints: list[str] = []

    def __call__(self, asked: Asked) -> Answer:
        if asked.headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(401)
        complaint = self._complaint(asked)
        if complaint:
            self.complaints.append(complaint)
            return as_json(400, error=complaint)
        lease = asked.body["lease"]
        price = self._price(lease)
        match asked.path:
            case "/usage/check-create" | "/usage/check-update":
                spent = sum(self.spent.values()) - self.spent.get(lease["id"], 0)
                if spent + price > self.credits:
                    return as_json(403, error="Insufficient credits.")
            case "/usage/create":
                if lease["id"] in self.spent:
                    return as_json(403, error="There is such a consumer.")
                self.spent[lease["id"]] = price
            case "/usage/update":
                self.spent[lease["id"]] = price
            case "/usage/on-end":
                self.spent.pop(lease["id"], None)
            case _:
                return Answer(404)
        return Answer(204)

    @staticmethod
    def _price(lease: Any) -> float:
        start, end = (
            time.strptime(lease[name][:19], "%Y-%m-%dT%H:%M:%S") for name in ("start_date", "end_date")
        )
        return float(lease["resource_requests"]["VCPU"] * (time.mktime(end) - time.mktime(start)) / 3600)

    @staticmethod
    def _complaint(asked: Asked) -> str | None:
        lease = asked.body["lease"]
        host = urlsplit(asked.body["context"]["auth_url"]).hostname or ""
        requests = lease.get("resource_requests")
        if not lease.get("id") or not lease.get("name"):
            return "lease: no id or name"
        if "." not in host:
            return f"auth_url: {host}"
        if not requests or any(not isinstance(n, int) or n <= 0 for n in requests.values()):
            return f"resource_requests: {requests}"
        for reservation in lease["reservations"]:
            if not isinstance(reservation.get("affinity", ""), str):
                return "affinity"
            if reservation.get("resource_properties", None) == "":
                return "resource_properties"
            for allocation in reservation["allocations"]:
                if any(allocation.get(fact) and name not in requests for name, fact in SIZES.items()):
                    return "a class of an allocation is missing"
        return None
