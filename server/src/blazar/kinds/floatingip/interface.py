"""The use cases of floating IPs, as blazar-api may call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from blazar.domain.resource import Registration
from blazar.kinds.floatingip.commands import RegisterFloatingIP
from blazar.service.context import Caller
from blazar.service.interface import call_options
from blazar.service.pages import ResourcePage


class FloatingIPsInterface(Protocol):
    @call_options(repeatable=False, once=True)
    def register(self, command: RegisterFloatingIP, caller: Caller | None = None) -> Registration:
        """Neutron is used no longer than the caller waits."""
        ...

    def get(self, floatingip_id: str) -> Registration:
        """Return the floating IP. Raises FloatingIPNotFound."""
        ...

    @call_options(added=("page",))
    def list(self, page: ResourcePage | None = None) -> Sequence[Registration]:
        """Return the floating IPs: a page in the order of their ids. Without ``page``, as a blazar-api of the
        version before asks, all of them are returned at once, by network and number."""
        ...

    @call_options(once=True)
    def unregister(self, floatingip_id: str) -> None: ...
