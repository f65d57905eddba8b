"""Reservations of slots for servers of a fixed size: what the kinds virtual:instance and flavor:instance have
in common.

A slot is the room for one server. A reservation of slots has, in Nova, a private flavor and an aggregate of
the hosts that serve it, and in Placement a resource class of its own, of which every one of these hosts has
as many as it serves slots. So Nova's scheduler finds the hosts, and Placement counts the servers. Names and
keys are those of the wire specification, chapter 3.6."""

from blazar.kinds.slots.actuator import SlotActuator, SlotSettings
from blazar.kinds.slots.size import SlotSize

__all__ = ["SlotActuator", "SlotSettings", "SlotSize"]
