"""The errors about segments and their reservations."""

from __future__ import annotations

from blazar.domain.errors import Conflict, InvalidInput, NotEnoughResources, NotFound


class InvalidSegments(InvalidInput):
    code = "invalid_segments"
    template = "These are no segments: {reason}"


class NetworkSegmentNotFound(NotFound):
    code = "network_segment_not_found"
    template = "Network segment {segment} not found."


class NetworkSegmentAlreadyRegistered(Conflict):
    code = "network_segment_already_registered"
    template = "Already registered, so none was: {segments}"


class NetworkSegmentInUse(Conflict):
    """A network is on the segment that was made outside of any reservation."""

    code = "network_segment_in_use"
    template = "Neutron has other networks on these segments: {segments}"


class NetworkSegmentReserved(Conflict):
    """What is promised stays."""

    code = "network_segment_reserved"
    template = "Network segment {segment} cannot be removed. It is reserved."


class NotEnoughNetworkSegments(NotEnoughResources):
    """The same of segments."""

    code = "not_enough_network_segments"
