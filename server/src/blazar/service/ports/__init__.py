"""The ports of the use cases to the world, as Protocols: the ``database``, the ``cloud``, and their
``surroundings``.

Shipped implementations: ``adapters.db`` and ``adapters.memory`` for the database, ``adapters.openstack`` for
the cloud. One contract suite holds all implementations of a port to the same behaviour."""

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
    LONGEST_TEXT,
    CallRepository,
    ClaimedEvent,
    Database,
    DutyRepository,
    EventRepository,
    LeaseRepository,
    ListPage,
    Notification,
    Outbox,
    PropertyRecord,
    ResourceRepository,
    StandingClaim,
    UnitOfWork,
)
from blazar.service.ports.drift import Difference, Look, MarkedObject, Repair, is_reservation_id
from blazar.service.ports.surroundings import Clock, Notifier

__all__ = [
    "LONGEST_TEXT",
    "Aggregate",
    "CallRepository",
    "ClaimedEvent",
    "Clock",
    "Cloud",
    "CloudNetwork",
    "Compute",
    "Database",
    "Difference",
    "DutyRepository",
    "EventRepository",
    "Flavor",
    "FloatingIP",
    "Hypervisor",
    "Identity",
    "LeaseRepository",
    "ListPage",
    "Look",
    "MarkedObject",
    "Network",
    "Notification",
    "Notifier",
    "Outbox",
    "Placement",
    "PropertyRecord",
    "Provider",
    "Repair",
    "ResourceRepository",
    "Server",
    "ServerGroup",
    "StandingClaim",
    "Subnet",
    "UnitOfWork",
    "is_reservation_id",
]
