"""Maintenances: operators take resources away for a time, and are told what that does to leases."""

from blazar.service.maintenances.buffers import Buffers
from blazar.service.maintenances.lifetimes import LifetimeDecision, Lifetimes
from blazar.service.maintenances.use_cases import MaintenanceDecision, Maintenances

__all__ = ["Buffers", "LifetimeDecision", "Lifetimes", "MaintenanceDecision", "Maintenances"]
