"""The usage filters that come with the service."""

from blazar.adapters.enforcement.external_service import ExternalServiceFilter
from blazar.adapters.enforcement.max_lease_duration import MaxLeaseDurationFilter

__all__ = ["ExternalServiceFilter", "MaxLeaseDurationFilter"]
