"""What is in the cloud on its first day?

Everything has the same id in every sandbox, so that a cloud that was stopped finds its things again, and only what
differs from the first day has to be kept on disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from blazar_sandbox.compute.model import Aggregate, Flavor, Host
from blazar_sandbox.identity.model import (
    CatalogService,
    Domain,
    Endpoint,
    Project,
    Region,
    Role,
    Scope,
    ScopeKind,
    User,
    hidden,
    stable_id,
    stable_uuid,
)
from blazar_sandbox.image.state import Image
from blazar_sandbox.network.model import Net, Pool, Subnet
from blazar_sandbox.placement.model import Inventory, Name, Provider
from blazar_sandbox.placement.traits import STANDARD_TRAITS

if TYPE_CHECKING:
    from blazar_sandbox.cloud import Cloud

FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
REGION = "RegionOne"
FREEPOOL = "freepool"

_USERS: dict[str, dict[str, tuple[str, ...]]] = {
    "admin": {"admin": ("admin",)},
    "blazar": {"service": ("admin", "service")},
    "demo": {"demo": ("member", "reader")},
    "alt": {"alt": ("member", "reader")},
}
_PROJECTS = ("admin", "service", "demo", "alt")
_ROLES = ("admin", "manager", "member", "reader", "service")
_SERVICES = (
    ("keystone", "identity", "/v3"),
    ("nova", "compute", "/compute/v2.1"),
    ("placement", "placement", "/placement"),
    ("neutron", "network", "/network"),
    ("glance", "image", "/image"),
)


@dataclass(frozen=True)
class _Profile:
    """A model of host."""

    name: str
    vcpus: int
    memory_mb: int
    local_gb: int
    cpu_model: str
    vendor: str = "Intel"
    pcpus: int = 0
    traits: tuple[str, ...] = ()
    more: tuple[tuple[str, int], ...] = ()


PROFILES = (
    _Profile("standard", 16, 65536, 400, "Skylake-Server-IBRS", traits=("STORAGE_DISK_SSD",)),
    _Profile("standard-amd", 16, 65536, 400, "EPYC-Rome", "AMD", traits=("STORAGE_DISK_SSD",)),
    _Profile("large", 32, 131072, 800, "Icelake-Server", traits=("STORAGE_DISK_SSD", "HW_CPU_HYPERTHREADING")),
    _Profile("memory", 64, 524288, 1600, "Icelake-Server", traits=("STORAGE_DISK_SSD", "CUSTOM_BIG_MEMORY")),
    _Profile(
        "gpu", 32, 196608, 1000, "Cascadelake-Server",
        traits=("CUSTOM_GPU_A100", "STORAGE_DISK_SSD", "HW_GPU_CUDA_SDK_V10_1"), more=(("VGPU", 8),),
    ),
    _Profile("dedicated", 48, 262144, 1000, "Icelake-Server", pcpus=24, traits=("HW_NIC_SRIOV", "STORAGE_DISK_SSD")),
    _Profile("storage", 24, 98304, 8000, "EPYC-Milan", "AMD", traits=("STORAGE_DISK_HDD", "CUSTOM_JBOD")),
    _Profile("small", 8, 32768, 200, "Broadwell-IBRS", traits=("STORAGE_DISK_HDD",)),
)  # fmt: skip

_COMMON = (
    "COMPUTE_NODE", "COMPUTE_DEVICE_TAGGING", "COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_NET_VIF_MODEL_VIRTIO",
    "COMPUTE_IMAGE_TYPE_QCOW2", "COMPUTE_IMAGE_TYPE_RAW", "COMPUTE_STORAGE_BUS_VIRTIO", "COMPUTE_VOLUME_ATTACH",
    "COMPUTE_TRUSTED_CERTS", "HW_CPU_X86_SSE2", "HW_CPU_X86_SSE42", "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2",
    "HW_CPU_X86_AESNI", "HW_CPU_X86_FMA3", "HW_CPU_X86_BMI2",
)  # fmt: skip
_INTEL = ("HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX", "HW_CPU_X86_AVX512F")
_AMD = ("HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM")
_FEATURES = ("aes", "avx", "avx2", "bmi2", "fma", "pcid", "sse4.1", "sse4.2", "ssse3", "x2apic", "xsave")


def fill(cloud: "Cloud", *, password: str, reservation_url: str) -> None:
    """Put everything but the hosts into a new cloud."""
    _fill_identity(cloud, password)
    _fill_catalog(cloud, reservation_url)
    _fill_compute(cloud)
    _fill_network(cloud)
    cloud.images.put(
        Image(
            stable_uuid("image", "dummy"), "dummy", stable_id("project", "admin"), FIRST_DAY, FIRST_DAY,
            status="active", visibility="public", disk_format="qcow2", container_format="bare",
            size=21430272, checksum="c8fc807773e5354afe61636071771906",
        )
    )  # fmt: skip


def _fill_identity(cloud: "Cloud", password: str) -> None:
    identity = cloud.identity
    identity.domains.put("default", Domain("default", "Default", description="The default domain"))
    for name in _ROLES:
        identity.roles.put(stable_id("role", name), Role(stable_id("role", name), name))
    for name in _PROJECTS:
        identity.projects.put(stable_id("project", name), Project(stable_id("project", name), name))
    for name, grants in _USERS.items():
        user_id = stable_id("user", name)
        home = stable_id("project", next(iter(grants)))
        identity.users.put(user_id, User(user_id, name, password=hidden(password), default_project_id=home))
        for project, roles in grants.items():
            for role in roles:
                scope = Scope(ScopeKind.PROJECT, stable_id("project", project))
                identity.assign(user_id, stable_id("role", role), scope)
    admin, role = stable_id("user", "admin"), stable_id("role", "admin")
    identity.assign(admin, role, Scope(ScopeKind.SYSTEM, "all"))
    identity.assign(admin, role, Scope(ScopeKind.DOMAIN, "default"))


def _fill_catalog(cloud: "Cloud", reservation_url: str) -> None:
    identity = cloud.identity
    identity.regions.put(REGION, Region(REGION))
    for name, kind, url in (*_SERVICES, ("blazar", "reservation", reservation_url)):
        service_id = stable_id("service", kind)
        identity.services.put(service_id, CatalogService(service_id, name, kind))
        for interface in ("public", "internal", "admin"):
            endpoint_id = stable_id("endpoint", kind, interface)
            identity.endpoints.put(endpoint_id, Endpoint(endpoint_id, service_id, interface, url, REGION))


def _fill_compute(cloud: "Cloud") -> None:
    freepool = Aggregate(1, stable_uuid("aggregate", FREEPOOL), FREEPOOL, {}, FIRST_DAY)
    cloud.compute.aggregates.table.put("1", freepool)
    sizes = (("m1.tiny", 1, 512, 1), ("m1.small", 2, 2048, 10), ("m1.medium", 4, 4096, 20), ("m1.large", 8, 8192, 40))
    for at, (name, vcpus, ram, disk) in enumerate(sizes, start=1):
        cloud.compute.flavors.put(Flavor(str(at), name, vcpus, ram, disk))


def _fill_network(cloud: "Cloud") -> None:
    network, owner = cloud.network, stable_id("project", "admin")
    public = Net(stable_uuid("network", "public"), "public", owner, FIRST_DAY, external=True)
    private = Net(stable_uuid("network", "private"), "private", owner, FIRST_DAY, shared=True)
    for net in (public, private):
        network.networks.put(net.id, net)
    subnets = (
        Subnet(
            stable_uuid("subnet", "public"), "public-subnet", public.id, owner, "203.0.113.0/24", FIRST_DAY,
            "203.0.113.1", (Pool("203.0.113.10", "203.0.113.99"),), enable_dhcp=False,
        ),
        Subnet(
            stable_uuid("subnet", "private"), "private-subnet", private.id, owner, "10.0.0.0/16", FIRST_DAY,
            "10.0.0.1", (Pool("10.0.0.2", "10.0.255.254"),),
        ),
    )  # fmt: skip
    for subnet in subnets:
        network.subnets.put(subnet.id, subnet)


def fill_hosts(cloud: "Cloud", last: int, traits: int, *, first: int = 1) -> None:
    """Give the cloud the hosts from number ``first`` to ``last``, with about ``traits`` traits each."""
    sets: dict[tuple[int, int], frozenset[str]] = {}
    for number in range(first, last + 1):
        profile = PROFILES[(number - 1) % len(PROFILES)]
        rack = (number - 1) // 16 + 1
        key = ((number - 1) % len(PROFILES), rack)
        if key not in sets:
            sets[key] = frozenset(_traits(profile, rack, traits))
        for name in sets[key]:
            if name.startswith("CUSTOM_") and name not in cloud.placement.custom_traits:
                cloud.placement.custom_traits.put(name, Name(name))
        host = _host(number, profile)
        cloud.compute.hosts.table.put(host.name, host)
        provider = Provider(host.uuid, host.name, host.uuid, None, 2, _inventories(host, profile), sets[key])
        cloud.placement.providers.put(host.uuid, provider)


def _host(number: int, profile: _Profile) -> Host:
    name = f"compute-{number:02d}"
    return Host(
        name=name,
        id=number,
        uuid=stable_uuid("host", name),
        service_uuid=stable_uuid("service", name),
        host_ip=f"192.168.{number // 250 % 256}.{number % 250 + 1}",
        vcpus=profile.vcpus,
        memory_mb=profile.memory_mb,
        local_gb=profile.local_gb,
        cpu_model=profile.cpu_model,
        cpu_vendor=profile.vendor,
        cpu_features=_FEATURES,
    )


def _inventories(host: Host, profile: _Profile) -> dict[str, Inventory]:
    shared = host.vcpus - profile.pcpus
    found = {
        "VCPU": Inventory(shared, max_unit=shared, allocation_ratio=4.0),
        "MEMORY_MB": Inventory(host.memory_mb, reserved=512, max_unit=host.memory_mb),
        "DISK_GB": Inventory(host.local_gb, max_unit=host.local_gb),
    }
    if profile.pcpus:
        found["PCPU"] = Inventory(profile.pcpus, max_unit=profile.pcpus)
    for name, total in profile.more:
        found[name] = Inventory(total, max_unit=total)
    return found


def _traits(profile: _Profile, rack: int, wanted: int) -> Iterator[str]:
    """Give the profile's own traits, its rack and the common ones, and then fill up with what a CPU may have."""
    own = dict.fromkeys((*profile.traits, f"CUSTOM_RACK_{rack:04d}", *_COMMON))
    own |= dict.fromkeys(_AMD if profile.vendor == "AMD" else _INTEL)
    yield from own
    status = {"COMPUTE_STATUS_DISABLED", "MISC_SHARES_VIA_AGGREGATE"}
    others = sorted(name for name in STANDARD_TRAITS if name not in own and name not in status)
    names = [name for name in others if name.startswith(("HW_CPU_X86_", "COMPUTE_"))]
    yield from names[: max(0, wanted - len(own))]


def move_endpoints(cloud: "Cloud", service_type: str, url: str) -> None:
    """Point the catalog's endpoints of a service to another address."""
    for key, endpoint in list(cloud.identity.endpoints.items()):
        if endpoint.service_id == stable_id("service", service_type):
            cloud.identity.endpoints.put(key, replace(endpoint, url=url))
