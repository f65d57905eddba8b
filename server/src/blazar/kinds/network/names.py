"""The names of a registered segment: the facts of its registration, its name and its id."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID, uuid5

from blazar.domain.resource import Pool, PropertyValue, Registration
from blazar.service.ports import Segment

POOL = Pool("networksegment")
NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID = ("network_type", "physical_network", "segmentation_id")

_NAMESPACE = UUID("b1a2a700-5e5e-4a7e-9f00-000000000003")


class NetworkType(StrEnum):
    """The types of networks that have numbered segments; the words are Neutron's."""

    VLAN = "vlan"
    VXLAN = "vxlan"
    GENEVE = "geneve"
    GRE = "gre"


HIGHEST = {
    NetworkType.VLAN: 4094,
    NetworkType.VXLAN: 2**24 - 1,
    NetworkType.GENEVE: 2**24 - 1,
    NetworkType.GRE: 2**32 - 1,
}
"""The highest segmentation id of each type; the lowest is 1."""
MOST_ID = max(HIGHEST.values())


def registration_of(segment: Segment) -> Registration:
    """Return the registration of a segment.

    Its id follows from what it names, so that two registrations of one segment are one too many by
    themselves."""
    facts: dict[str, PropertyValue] = {
        NETWORK_TYPE: segment.network_type,
        SEGMENTATION_ID: segment.segmentation_id,
    }
    if segment.physical_network is not None:
        facts[PHYSICAL_NETWORK] = segment.physical_network
    name = name_of(segment)
    return Registration(str(uuid5(_NAMESPACE, name)), POOL, name, facts)


def segment_of(registration: Registration) -> Segment:
    """Return what was registered."""
    facts = registration.facts
    physical_network = facts.get(PHYSICAL_NETWORK)
    return Segment(
        str(facts[NETWORK_TYPE]),
        None if physical_network is None else str(physical_network),
        int(str(facts[SEGMENTATION_ID])),
    )


def name_of(segment: Segment) -> str:
    """Return the name by which people know the segment, such as ``vlan 101 of physnet1``."""
    of = "" if segment.physical_network is None else f" of {segment.physical_network}"
    return f"{segment.network_type} {segment.segmentation_id}{of}"
