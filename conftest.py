"""Leaves out the tests that take long, but for ``make test-thorough``."""

from __future__ import annotations

import pytest
from effort import EFFORT


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is marked ``thorough`` unless that is the effort asked for."""
    if EFFORT == "thorough":
        return
    long = [item for item in items if item.get_closest_marker("thorough")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
