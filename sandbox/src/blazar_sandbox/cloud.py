"""The state of the whole cloud."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from datetime import timedelta
from threading import RLock
from typing import Any

from blazar_sandbox import initial_content
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
from blazar_sandbox.orchestration.state import Orchestration
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.table import Table
from blazar_sandbox.volume.state import Volumes
from blazarnova import rule

DEFAULT_RESERVATION_URL = "http://127.0.0.1:1234/v1"


class Cloud:
    """The state of all services, without HTTP.

    The application reads and changes it under ``lock``, and so must all other code.
    """

    def __init__(
        self,
        *,
        hosts: int = 8,
        traits: int = 20,
        password: str = "sandbox",  # noqa: S107  # a public default, served on loopback
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
        self.trait_count = traits
        self._delays = delays or Delays()
        self._settings = settings or rule.Settings()
        self.region = initial_content.REGION
        self.more_regions: dict[str, Cloud] = {}
        """The other regions, by name."""
        initial_content.fill_identity(self.identity, password)
        initial_content.fill_catalog(self.identity, reservation_url)
        self._fill(hosts)

    def _fill(self, hosts: int) -> None:
        """Make the services of a region: all but Keystone."""
        self.host_count = 0
        self.placement = Placement()
        self.network = Network(self.clock)
        self.images = Images(self.clock)
        self.volumes = Volumes(self.clock)
        self.orchestration = Orchestration(self.clock)
        self.compute = Compute(self.clock, self.placement, self.network, self._delays, self._settings)
        self.compute.servers.when_gone = self.volumes.leave
        initial_content.fill_compute(self.compute)
        initial_content.fill_network(self.network)
        initial_content.fill_images(self.images)
        initial_content.fill_volumes(self.volumes)
        self.add_hosts(hosts)

    def add_region(self, name: str, hosts: int) -> "Cloud":
        """Add a region to the catalog, and return its state: services of its own, but for Keystone.

        They are served below the region's name, as in ``/RegionTwo/compute``."""
        added = copy(self)
        added.region, added.more_regions = name, {}
        added._fill(hosts)
        for table in added.own_tables:
            table.name = f"{name}/{table.name}"
        with self.lock:
            initial_content.fill_region(self.identity, name)
            self.more_regions[name] = added
        return added

    @property
    def own_tables(self) -> Iterator[Table[Any]]:
        """Every table of the services of this region."""
        for part in (
            self.placement,
            self.network,
            self.images,
            self.volumes,
            self.orchestration,
            self.compute,
        ):
            yield from part.tables

    @property
    def tables(self) -> Iterator[Table[Any]]:
        """Every table of every service."""
        yield from self.identity.tables
        for region in (self, *self.more_regions.values()):
            yield from region.own_tables

    def advance(self) -> None:
        """Apply every change of servers and stacks that is due."""
        self.compute.servers.advance()
        self.orchestration.advance()

    def resume(self) -> None:
        """Continue the changes that were pending when the state was saved."""
        for region in (self, *self.more_regions.values()):
            region.compute.servers.resume()

    def move_service(self, service_type: str, url: str) -> None:
        """Change the URL of a service in the catalog, once its port is known."""
        with self.lock:
            for key, endpoint in list(self.identity.endpoints.items()):
                if endpoint.service_id == stable_id("service", service_type):
                    self.identity.endpoints.put(key, replace(endpoint, url=url))

    def add_hosts(self, count: int) -> None:
        """Add hosts until there are ``count``; hosts are never removed."""
        if count > self.host_count:
            numbers = range(self.host_count + 1, count + 1)
            initial_content.fill_hosts(self.compute, self.placement, numbers, self.trait_count, self.region)
            self.host_count = count

    def project_id(self, name: str) -> str:
        """Return the id of a project of the initial content."""
        return stable_id("project", name)

    def user_id(self, name: str) -> str:
        """Return the id of a user of the initial content."""
        return stable_id("user", name)
