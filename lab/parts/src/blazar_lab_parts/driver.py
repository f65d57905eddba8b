"""The fake hypervisor of the lab's nova-computes.

Nova loads drivers from its own package `nova.virt` only, so this file is installed there, as `lab.py`.
"""

from __future__ import annotations

import os

from nova.virt import fake


class LabDriver(fake.FakeDriverWithoutFakeNodes):  # type: ignore[misc]  # nova has no types
    """Nova's fake driver with the size that the process is started with, so that capacity can run out."""

    vcpus = int(os.environ["LAB_VCPUS"])
    memory_mb = int(os.environ["LAB_MEMORY_MB"])
    local_gb = int(os.environ["LAB_DISK_GB"])
