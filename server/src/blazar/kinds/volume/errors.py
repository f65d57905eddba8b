"""The errors about volume types and their reservations."""

from __future__ import annotations

from blazar.domain.errors import Conflict, InvalidInput, NotEnoughResources, NotFound


class CloudVolumeTypeNotFound(InvalidInput):
    """Cinder has none, or shows it not to the user."""

    code = "cloud_volume_type_not_found"
    template = "Failed to find volume type {volume_type}"


class VolumeTypeNotFound(NotFound):
    code = "volume_type_not_found"
    template = "Volume type {volume_type} not found."


class VolumeTypeAlreadyRegistered(Conflict):
    code = "volume_type_already_registered"
    template = "Volume type {volume_type} is already registered."


class VolumeTypeReserved(Conflict):
    """What is promised stays."""

    code = "volume_type_reserved"
    template = "Volume type {volume_type} cannot be {change}. {reason}"


class NotEnoughVolumeCapacity(NotEnoughResources):
    """The same of volume types."""

    code = "not_enough_volume_capacity"


class VolumeSourceNotFound(NotFound):
    """What volumes were to be made from, or a server that was to get them, as far as the user sees."""

    code = "volume_source_not_found"
    template = "{what} {id} could not be found."


class VolumesTooSmall(InvalidInput):
    """A snapshot does not fit into them."""

    code = "volumes_too_small"
    template = "Volumes of {gigabytes} GB are too small for snapshot {snapshot}, which has {size} GB."
