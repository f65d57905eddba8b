"""What the filter in nova-scheduler understands of a hint is what the service makes a lease of."""

from __future__ import annotations

from blazar.kinds.server import hints
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor
from blazar.service.ports import LEASE_HINT
from blazar.service.promises import CLASSES
from blazarnova import bounded


def test_keys_and_ids_are_the_same() -> None:
    assert set(bounded.KEYS) == {*hints.KEYS, *hints.OTHERS}
    assert (bounded.LEASE_HINT, bounded.LEASES) == (LEASE_HINT, hints.LEASES)


def test_sizes_are_counted_alike() -> None:
    flavor = SourceFlavor.model_validate(
        {
            "id": "x",
            "name": "x",
            "vcpus": 2,
            "ram": 512,
            "disk": 5,
            "ephemeral": 3,
            "swap": 1025,
            "extra_specs": {"hw_rng:allowed": "True", "trait:HW_X": "required"},
        }
    )
    sizes = bounded.Sizes(flavor.vcpus, flavor.ram, flavor.disk, flavor.ephemeral, flavor.swap)
    taken = bounded.amounts_of(sizes, flavor.extra_specs)
    assert taken == needs_of(flavor).amounts
    assert taken is not None
    assert set(taken) == set(CLASSES)
