"""The use cases of leases: read, create, update and delete them, one module per story.

Each story loads, decides and commits. What it decides is one value, ``store.LeaseChange``, and one function
commits it: ``store.LeaseStore.commit``."""

from blazar.service.leases.create import DisplacingPreview
from blazar.service.leases.settings import (
    ClaimBySettings,
    DisplacementSettings,
    LateBindingSettings,
    LeaseSettings,
    WaitSettings,
)
from blazar.service.leases.use_cases import Leases

__all__ = [
    "ClaimBySettings",
    "DisplacementSettings",
    "DisplacingPreview",
    "LateBindingSettings",
    "LeaseSettings",
    "Leases",
    "WaitSettings",
]
