"""Images of the servers of a reservation that is about to end: who wants them, and how they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from blazar.domain.errors import CloudRefused, MalformedParameter
from blazar.domain.lease.lease import Lease
from blazar.domain.lease.outcome import Done, GiveUp, Outcome
from blazar.service.ports import Cloud, Server


class BeforeEnd(StrEnum):
    """The action when the end is near; ``default`` leaves it to the operator."""

    NOTHING = ""
    SNAPSHOT = "snapshot"
    DEFAULT = "default"


def parse_before_end(parameters: Mapping[str, Any]) -> BeforeEnd:
    """Parse the wish. Raises MalformedParameter."""
    wanted = parameters.get("before_end")
    if wanted is None:
        return BeforeEnd.DEFAULT
    if wanted not in list(BeforeEnd):
        raise MalformedParameter(param="before_end (must be one of '', 'snapshot', 'default')")
    return BeforeEnd(wanted)


def take_snapshots(lease: Lease, servers: Sequence[Server], prefix: str, cloud: Cloud) -> Outcome:
    """Make an image of each server, in the name of the lease's owner; a server that refuses is passed
    over."""
    if not servers:
        return Done()
    owner = cloud.compute
    if lease.trust_id is not None:
        if not cloud.identity.is_trust_valid(lease.trust_id):
            return GiveUp("no snapshots were made: the trust by which the user allowed it is no longer valid")
        owner = cloud.as_trustee(lease.trust_id).compute
    for server in servers:
        with contextlib.suppress(CloudRefused):
            owner.snapshot_server(server, prefix + server.name)
    return Done()
