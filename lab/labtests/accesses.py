"""Who asked an API of the cloud, as its access log tells?"""

from __future__ import annotations

from pathlib import Path

SERVICES = ("nova", "neutron", "glance", "placement", "serve.py")
"""Services of the cloud check a token, or fetch one of their own, now and then."""


def of_others(log: Path) -> list[str]:
    """The requests of everybody but the cloud's own services."""
    return [line for line in log.read_text().splitlines() if not line.split("'")[-2].startswith(SERVICES)]
