"""What the use cases need from the world, as Protocols: the ``database``, the ``cloud``, and their ``surroundings``.

Shipped implementations: ``adapters.db`` and ``adapters.memory`` for the database, ``adapters.openstack`` for the cloud.
One contract suite holds all implementations of a port to the same behaviour.
"""

from blazar.service.ports.cloud import (
    Aggregate,
    Cloud,
    CloudNetwork,
    Compute,
    Flavor,
    FloatingIP,
    Hypervisor,
    Identity,
    Network,
    Placement,
    Provider,
    Server,
    ServerGroup,
    Subnet,
)
from blazar.service.ports.database import (
    ClaimedEvent,
    ClaimLost,
    Database,
    EventRepository,
    LeaseRepository,
    Notice,
    Outbox,
    OutcomeUnknown,
    PropertyRecord,
    ResourceRepository,
    Stale,
    StandingClaim,
    UnitOfWork,
)
from blazar.service.ports.surroundings import Clock, Notifier

__all__ = [
    "Aggregate",
    "ClaimLost",
    "ClaimedEvent",
    "Clock",
    "Cloud",
    "CloudNetwork",
    "Compute",
    "Database",
    "EventRepository",
    "Flavor",
    "FloatingIP",
    "Hypervisor",
    "Identity",
    "LeaseRepository",
    "Network",
    "Notice",
    "Notifier",
    "Outbox",
    "OutcomeUnknown",
    "Placement",
    "PropertyRecord",
    "Provider",
    "ResourceRepository",
    "Server",
    "ServerGroup",
    "Stale",
    "StandingClaim",
    "Subnet",
    "UnitOfWork",
]
