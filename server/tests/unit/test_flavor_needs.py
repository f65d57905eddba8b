"""What a server of a flavor takes of its host, read from the flavor's numbers and extra specs."""

from __future__ import annotations

from typing import Any

import pytest

from blazar.domain.errors import Conflict, MalformedParameter
from blazar.kinds.slots.needs import needs_of
from blazar.kinds.slots.source_flavor import SourceFlavor

PLAIN = {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 20}


def flavor(extra_specs: dict[str, str] | None = None, **numbers: Any) -> SourceFlavor:
    size = {"vcpus": 4, "ram": 8192, "disk": 20, **numbers}
    return SourceFlavor(id="f", name="m1", extra_specs=extra_specs or {}, **size)


@pytest.mark.parametrize(
    ("numbers", "amounts"),
    [
        pytest.param({}, PLAIN, id="its three numbers"),
        pytest.param({"ephemeral": 5}, {**PLAIN, "DISK_GB": 25}, id="the ephemeral disk counts as disk"),
        pytest.param({"swap": 1}, {**PLAIN, "DISK_GB": 21}, id="a MiB of swap takes a whole GiB"),
        pytest.param({"swap": 1025}, {**PLAIN, "DISK_GB": 22}, id="swap is rounded up"),
        pytest.param({"disk": 0}, {"VCPU": 4, "MEMORY_MB": 8192}, id="nothing of what is zero"),
    ],
)
def test_numbers(numbers: dict[str, int], amounts: dict[str, int]) -> None:
    assert needs_of(flavor(**numbers)).amounts == amounts


@pytest.mark.parametrize(
    ("specs", "amounts"),
    [
        pytest.param(
            {"resources:VCPU": "0"}, {"MEMORY_MB": 8192, "DISK_GB": 20}, id="an override to nothing"
        ),
        pytest.param({"resources:VGPU": "2"}, {**PLAIN, "VGPU": 2}, id="a further class"),
        pytest.param({"resources:CUSTOM_GOLD": "1"}, {**PLAIN, "CUSTOM_GOLD": 1}, id="a custom class"),
        pytest.param(
            {"hw:cpu_policy": "dedicated"}, {"PCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 20}, id="dedicated CPUs"
        ),
        pytest.param(
            {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
            {"PCPU": 5, "MEMORY_MB": 8192, "DISK_GB": 20},
            id="one CPU more for the emulator",
        ),
        pytest.param({"hw:cpu_policy": "shared"}, PLAIN, id="shared CPUs"),
        pytest.param({"hw_rng:allowed": "True", "quota:cpu_shares": "2"}, PLAIN, id="what takes nothing"),
    ],
)
def test_amounts_of_extra_specs(specs: dict[str, str], amounts: dict[str, int]) -> None:
    assert needs_of(flavor(specs)).amounts == amounts


@pytest.mark.parametrize(
    ("specs", "required", "forbidden"),
    [
        ({}, (), ()),
        ({"trait:HW_CPU_X86_AVX2": "required"}, ("HW_CPU_X86_AVX2",), ()),
        ({"trait:CUSTOM_SLOW": "forbidden"}, (), ("CUSTOM_SLOW",)),
        ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "require"}, ("HW_CPU_HYPERTHREADING",), ()),
        ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "isolate"}, (), ("HW_CPU_HYPERTHREADING",)),
        ({"hw:cpu_policy": "dedicated", "hw:cpu_thread_policy": "prefer"}, (), ()),
        ({"hw:cpu_thread_policy": "require"}, (), ()),
    ],
)
def test_traits(specs: dict[str, str], required: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    needs = needs_of(flavor(specs))
    assert (needs.required, needs.forbidden) == (frozenset(required), frozenset(forbidden))


@pytest.mark.parametrize(
    "name",
    [
        "resources1:VCPU", "trait_GROUP:HW_X", "group_policy", "aggregate_instance_extra_specs:ssd",
        "capabilities:cpu_info", "pci_passthrough:alias", "accel:device_profile", "hw:pmem",
        "hw:mem_encryption", "hw:cpu_dedicated_mask", "hw:numa_nodes", "hw:pci_numa_affinity_policy", "ssd",
        "resources:CUSTOM_RESERVATION_A",
    ],
)  # fmt: skip
def test_what_cannot_be_promised_is_refused(name: str) -> None:
    with pytest.raises(Conflict, match=f"its extra spec {name}=1 cannot be guaranteed"):
        needs_of(flavor({name: "1"}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("hw:cpu_policy", "mixed"), ("hw:mem_page_size", "1GB"), ("hw:emulator_threads_policy", "none")],
)
def test_values_that_cannot_be_promised_are_refused(name: str, value: str) -> None:
    with pytest.raises(Conflict, match="cannot be guaranteed"):
        needs_of(flavor({name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("resources:VGPU", "two"), ("resources:VGPU", "-1"), ("resources:VGPU", "²"),
        ("resources:VGPU", str(2**31)), ("resources:vgpu", "1"), ("trait:HW_X", "wanted"),
        ("trait:hw-x", "required"),
    ],
)  # fmt: skip
def test_what_means_nothing_is_malformed(name: str, value: str) -> None:
    with pytest.raises(MalformedParameter, match="has the extra spec"):
        needs_of(flavor({name: value}))


def test_a_flavor_that_asks_for_nothing_is_malformed() -> None:
    with pytest.raises(MalformedParameter, match="asks for no resources at all"):
        needs_of(flavor(vcpus=0, ram=0, disk=0))
