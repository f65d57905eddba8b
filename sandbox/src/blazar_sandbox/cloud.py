"""What does the whole small cloud consist of?"""

from collections.abc import Iterator
from datetime import timedelta
from threading import RLock
from typing import Any

from blazar_sandbox import content
from blazar_sandbox.clock import Clock, SystemClock
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.compute.state import Compute
from blazar_sandbox.faults import Faults
from blazar_sandbox.identity.model import stable_id
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.identity.tokens import Tokens
from blazar_sandbox.image.state import Images
from blazar_sandbox.journal import Journal
from blazar_sandbox.network.state import Network
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.table import Table
from blazarnova import rule

DEFAULT_RESERVATION_URL = "http://127.0.0.1:1234/v1"


class Cloud:
    """The state of all services, without HTTP. Whoever touches it beside the application must hold ``lock``."""

    def __init__(
        self,
        *,
        hosts: int = 8,
        traits: int = 20,
        password: str = "sandbox",  # noqa: S107  # known to everybody, and served on loopback
        reservation_url: str = DEFAULT_RESERVATION_URL,
        public_url: str | None = None,
        token_lifetime: timedelta = timedelta(hours=1),
        delays: Delays | None = None,
        settings: rule.Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.public_url = public_url
        self.lock = RLock()
        self.journal = Journal()
        self.faults = Faults()
        self.identity = Identity(self.clock)
        self.tokens = Tokens(self.identity, token_lifetime)
        self.placement = Placement()
        self.network = Network(self.clock)
        self.images = Images(self.clock)
        self.compute = Compute(
            self.clock, self.placement, self.network, delays or Delays(), settings or rule.Settings()
        )
        content.fill(self, password=password, reservation_url=reservation_url)
        content.fill_hosts(self, hosts, traits)
        self.host_count = hosts
        self.trait_count = traits

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table of every service."""
        for part in (self.identity, self.placement, self.network, self.images, self.compute):
            yield from part.tables

    def advance(self) -> None:
        """Let time do its work."""
        self.compute.servers.advance()

    def resume(self) -> None:
        """Take up what was pending when the cloud's state was kept."""
        self.compute.servers.resume()

    def move_service(self, service_type: str, url: str) -> None:
        """Let the catalog point elsewhere, for a service whose port is known only after the cloud was made."""
        with self.lock:
            content.move_endpoints(self, service_type, url)

    def project_id(self, name: str) -> str:
        """Give the id of one of the first day's projects."""
        return stable_id("project", name)

    def user_id(self, name: str) -> str:
        """Give the id of one of the first day's users."""
        return stable_id("user", name)
