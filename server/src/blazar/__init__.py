"""Blazar: the reservation service for OpenStack clouds."""

import sys

# Some libraries use eventlet as soon as it is installed, and others install it. We use threads only, so it is
# hidden from all of them, before the first of them is imported.
sys.modules.setdefault("eventlet", None)  # type: ignore[arg-type]
