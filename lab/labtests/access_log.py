"""The requests in the HTTP access log of one of the cloud's APIs."""

from __future__ import annotations

from pathlib import Path

CLOUD_SERVICES = ("nova", "neutron", "glance", "placement", "serve.py")
"""User agents of the cloud's own services, which now and then check a token or get one of their own."""


def client_requests(log: Path) -> list[str]:
    """Return the lines of all requests except those of the cloud's own services."""
    lines = log.read_text().splitlines()
    return [line for line in lines if not line.split("'")[-2].startswith(CLOUD_SERVICES)]
