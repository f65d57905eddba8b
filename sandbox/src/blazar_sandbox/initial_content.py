"""The content of a new cloud.

Every object has the same id in every sandbox. Therefore only differences from the initial content are saved
to disk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from blazar_sandbox.compute.model import Aggregate, Flavor, Host
from blazar_sandbox.compute.state import Compute
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
    hash_secret,
    stable_id,
    stable_uuid,
)
from blazar_sandbox.identity.state import Identity
from blazar_sandbox.image.state import Image, Images
from blazar_sandbox.network.model import Net, Pool, Subnet
from blazar_sandbox.network.state import Network
from blazar_sandbox.placement.model import CustomName, Inventory, Provider
from blazar_sandbox.placement.standard_traits import STANDARD_TRAITS
from blazar_sandbox.placement.state import Placement
from blazar_sandbox.volume.state import DEFAULT_CLASS, Volumes, VolumeType

CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)
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
    ("cinder", "block-storage", "/volume/v3"),
    ("cinderv3", "volumev3", "/volume/v3"),
    ("heat", "orchestration", "/orchestration/v1/%(project_id)s"),
)


@dataclass(frozen=True)
class _HostModel:
    """A hardware model of compute hosts."""

    name: str
    vcpus: int
    memory_mb: int
    local_gb: int
    cpu_model: str
    vendor: str = "Intel"
    pcpus: int = 0
    traits: tuple[str, ...] = ()
    more: tuple[tuple[str, int], ...] = ()


_HOST_MODELS = (
    _HostModel("standard", 16, 65536, 400, "Skylake-Server-IBRS", traits=("STORAGE_DISK_SSD",)),
    _HostModel("standard-amd", 16, 65536, 400, "EPYC-Rome", "AMD", traits=("STORAGE_DISK_SSD",)),
    _HostModel(
        "large", 32, 131072, 800, "Icelake-Server", traits=("STORAGE_DISK_SSD", "HW_CPU_HYPERTHREADING")
    ),
    _HostModel(
        "memory", 64, 524288, 1600, "Icelake-Server", traits=("STORAGE_DISK_SSD", "CUSTOM_BIG_MEMORY")
    ),
    _HostModel(
        "gpu", 32, 196608, 1000, "Cascadelake-Server",
        traits=("CUSTOM_GPU_A100", "STORAGE_DISK_SSD", "HW_GPU_CUDA_SDK_V10_1"), more=(("VGPU", 8),),
    ),
    _HostModel(
        "dedicated", 48, 262144, 1000, "Icelake-Server", pcpus=24,
        traits=("HW_NIC_SRIOV", "STORAGE_DISK_SSD"),
    ),
    _HostModel("storage", 24, 98304, 8000, "EPYC-Milan", "AMD", traits=("STORAGE_DISK_HDD", "CUSTOM_JBOD")),
    _HostModel("small", 8, 32768, 200, "Broadwell-IBRS", traits=("STORAGE_DISK_HDD",)),
)  # fmt: skip

_COMMON = (
    "COMPUTE_NODE", "COMPUTE_DEVICE_TAGGING", "COMPUTE_NET_ATTACH_INTERFACE", "COMPUTE_NET_VIF_MODEL_VIRTIO",
    "COMPUTE_IMAGE_TYPE_QCOW2", "COMPUTE_IMAGE_TYPE_RAW", "COMPUTE_STORAGE_BUS_VIRTIO",
    "COMPUTE_VOLUME_ATTACH", "COMPUTE_TRUSTED_CERTS", "HW_CPU_X86_SSE2", "HW_CPU_X86_SSE42", "HW_CPU_X86_AVX",
    "HW_CPU_X86_AVX2", "HW_CPU_X86_AESNI", "HW_CPU_X86_FMA3", "HW_CPU_X86_BMI2",
)  # fmt: skip
_INTEL = ("HW_CPU_X86_VMX", "HW_CPU_X86_INTEL_VMX", "HW_CPU_X86_AVX512F")
_AMD = ("HW_CPU_X86_SVM", "HW_CPU_X86_AMD_SVM")
_FEATURES = ("aes", "avx", "avx2", "bmi2", "fma", "pcid", "sse4.1", "sse4.2", "ssse3", "x2apic", "xsave")


def fill_identity(identity: Identity, password: str) -> None:
    """Add the domain, the roles, the projects and the users, who all have the same password."""
    identity.domains.put("default", Domain("default", "Default", description="The default domain"))
    for name in _ROLES:
        identity.roles.put(stable_id("role", name), Role(stable_id("role", name), name))
    for name in _PROJECTS:
        identity.projects.put(stable_id("project", name), Project(stable_id("project", name), name))
    for name, grants in _USERS.items():
        user_id = stable_id("user", name)
        home = stable_id("project", next(iter(grants)))
        identity.users.put(
            user_id, User(user_id, name, password=hash_secret(password), default_project_id=home)
        )
        for project, roles in grants.items():
            for role in roles:
                scope = Scope(ScopeKind.PROJECT, stable_id("project", project))
                identity.assign(user_id, stable_id("role", role), scope)
    system = Scope(ScopeKind.SYSTEM, "all")
    identity.assign(stable_id("user", "blazar"), stable_id("role", "reader"), system)
    admin, role = stable_id("user", "admin"), stable_id("role", "admin")
    identity.assign(admin, role, system)
    identity.assign(admin, role, Scope(ScopeKind.DOMAIN, "default"))


def fill_catalog(identity: Identity, reservation_url: str) -> None:
    """Add the region, the services and their endpoints."""
    identity.regions.put(REGION, Region(REGION))
    for name, kind, url in (*_SERVICES, ("blazar", "reservation", reservation_url)):
        service_id = stable_id("service", kind)
        identity.services.put(service_id, CatalogService(service_id, name, kind))
        for interface in ("public", "internal", "admin"):
            endpoint_id = stable_id("endpoint", kind, interface)
            identity.endpoints.put(endpoint_id, Endpoint(endpoint_id, service_id, interface, url, REGION))


def fill_region(identity: Identity, name: str) -> None:
    """Add a region, and the endpoints there of all services but Keystone, which all regions share."""
    identity.regions.put(name, Region(name))
    for _, kind, url in _SERVICES[1:]:
        for interface in ("public", "internal", "admin"):
            endpoint_id = stable_id("endpoint", name, kind, interface)
            found = Endpoint(endpoint_id, stable_id("service", kind), interface, f"/{name}{url}", name)
            identity.endpoints.put(endpoint_id, found)


def fill_compute(compute: Compute) -> None:
    """Add the freepool and the flavors."""
    freepool = Aggregate(1, stable_uuid("aggregate", FREEPOOL), FREEPOOL, {}, CREATED_AT)
    compute.aggregates.table.put("1", freepool)
    sizes = (
        ("m1.tiny", 1, 512, 1),
        ("m1.small", 2, 2048, 10),
        ("m1.medium", 4, 4096, 20),
        ("m1.large", 8, 8192, 40),
    )
    for at, (name, vcpus, ram, disk) in enumerate(sizes, start=1):
        compute.flavors.put(Flavor(str(at), name, vcpus, ram, disk))


def fill_network(network: Network) -> None:
    """Add the external network ``public`` and the shared network ``private``."""
    owner = stable_id("project", "admin")
    public = Net(
        stable_uuid("network", "public"), "public", owner, CREATED_AT, external=True, network_type="flat",
        physical_network="public",
    )  # fmt: skip
    private = Net(stable_uuid("network", "private"), "private", owner, CREATED_AT, shared=True)
    for net in (public, private):
        network.create_network(net)
    subnets = (
        Subnet(
            stable_uuid("subnet", "public"), "public-subnet", public.id, owner, "203.0.113.0/24", CREATED_AT,
            "203.0.113.1", (Pool("203.0.113.10", "203.0.113.99"),), enable_dhcp=False,
        ),
        Subnet(
            stable_uuid("subnet", "private"), "private-subnet", private.id, owner, "10.0.0.0/16", CREATED_AT,
            "10.0.0.1", (Pool("10.0.0.2", "10.0.255.254"),),
        ),
    )  # fmt: skip
    for subnet in subnets:
        network.subnets.put(subnet.id, subnet)


def fill_images(images: Images) -> None:
    """Add the image ``dummy``."""
    images.put(
        Image(
            stable_uuid("image", "dummy"), "dummy", stable_id("project", "admin"), CREATED_AT, CREATED_AT,
            status="active", visibility="public", disk_format="qcow2", container_format="bare",
            size=21430272, checksum="c8fc807773e5354afe61636071771906",
        )
    )  # fmt: skip


def fill_volumes(volumes: Volumes) -> None:
    """Add the volume types: ``standard``, the default, and ``fast``, of which a project has nothing until its
    quota is raised."""
    for name in ("standard", "fast"):
        volumes.put_type(VolumeType(stable_uuid("volume type", name), name))
    volumes.set_limits(DEFAULT_CLASS, {"volumes_fast": 0, "gigabytes_fast": 0})


def fill_hosts(
    compute: Compute, placement: Placement, numbers: range, traits: int, region: str = REGION
) -> None:
    """Add the hosts of these numbers, from 1 on, with about ``traits`` traits each."""
    sets: dict[tuple[int, int], frozenset[str]] = {}
    for number in numbers:
        model = _HOST_MODELS[(number - 1) % len(_HOST_MODELS)]
        rack = (number - 1) // 16 + 1
        key = ((number - 1) % len(_HOST_MODELS), rack)
        if key not in sets:
            sets[key] = frozenset(_traits(model, rack, traits))
        for name in sets[key]:
            if name.startswith("CUSTOM_") and name not in placement.custom_traits:
                placement.custom_traits.put(name, CustomName(name))
        host = _host(number, model, region)
        compute.hosts.table.put(host.name, host)
        provider = Provider(host.uuid, host.name, host.uuid, None, 2, _inventories(host, model), sets[key])
        placement.providers.put(host.uuid, provider)


def _host(number: int, model: _HostModel, region: str) -> Host:
    name = f"compute-{number:02d}"
    # Hosts of several regions may have the same name, but not the same id.
    unique = name if region == REGION else f"{region} {name}"
    return Host(
        name=name,
        id=number,
        uuid=stable_uuid("host", unique),
        service_uuid=stable_uuid("service", unique),
        host_ip=f"192.168.{number // 250 % 256}.{number % 250 + 1}",
        vcpus=model.vcpus,
        memory_mb=model.memory_mb,
        local_gb=model.local_gb,
        cpu_model=model.cpu_model,
        cpu_vendor=model.vendor,
        cpu_features=_FEATURES,
    )


def _inventories(host: Host, model: _HostModel) -> dict[str, Inventory]:
    shared = host.vcpus - model.pcpus
    found = {
        "VCPU": Inventory(shared, max_unit=shared, allocation_ratio=4.0),
        "MEMORY_MB": Inventory(host.memory_mb, reserved=512, max_unit=host.memory_mb),
        "DISK_GB": Inventory(host.local_gb, max_unit=host.local_gb),
    }
    if model.pcpus:
        found["PCPU"] = Inventory(model.pcpus, max_unit=model.pcpus)
    for name, total in model.more:
        found[name] = Inventory(total, max_unit=total)
    return found


def _traits(model: _HostModel, rack: int, wanted: int) -> Iterator[str]:
    """Return the traits of the model, of the rack and of every host, and more CPU traits up to ``wanted``."""
    own = dict.fromkeys((*model.traits, f"CUSTOM_RACK_{rack:04d}", *_COMMON))
    own |= dict.fromkeys(_AMD if model.vendor == "AMD" else _INTEL)
    yield from own
    status = {"COMPUTE_STATUS_DISABLED", "MISC_SHARES_VIA_AGGREGATE"}
    others = sorted(name for name in STANDARD_TRAITS if name not in own and name not in status)
    names = [name for name in others if name.startswith(("HW_CPU_X86_", "COMPUTE_"))]
    yield from names[: max(0, wanted - len(own))]
