"""What the client knows of licences: the keys of a reservation, and the calls that its commands make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blazarclient.kinds.base import Kind, RegisteredResource
from blazarclient.kinds.fields import CountField, TextField
from blazarclient.transport import Transport
from blazarclient.v1.ordering import sort_rows

LICENCE = RegisteredResource(noun="licence", name_key="name")


class ClientKind(Kind):
    """Tokens of a licence."""

    resource_type = "licence:token"
    help = "tokens of a licence"
    fields = (
        TextField(name="licence", help="name of the licence", required=True),
        CountField(name="amount", help="how many tokens", default=1, sends_default=True, minimum=1),
    )
    resource = LICENCE

    def managers(self, transport: Transport) -> Mapping[str, object]:
        return {"licence": Licences(transport)}


class Licences:
    """The registered licences, as dictionaries."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, tokens: int) -> dict[str, Any]:
        """Register a licence, and return it."""
        created: dict[str, Any] = self._transport.post("/licences", {"name": name, "tokens": tokens})[1][
            "licence"
        ]
        return created

    def list(self, sort_by: str | None = None) -> list[dict[str, Any]]:
        """Return all licences."""
        return sort_rows(self._transport.get("/licences")[1]["licences"], sort_by)

    def delete(self, licence_id: str) -> None:
        """Remove a licence."""
        self._transport.delete(f"/licences/{licence_id}")
