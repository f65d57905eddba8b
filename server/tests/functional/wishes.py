"""Reservations as users ask for them, of which tests change what matters to them."""

HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}
INSTANCES = {
    "resource_type": "virtual:instance",
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "amount": 1,
    "affinity": None,
    "resource_properties": "",
}
