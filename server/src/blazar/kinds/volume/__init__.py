"""storage:volume: gigabytes and volumes of a volume type, by which the project's quota is raised for the time
of the lease."""

from blazar.kinds.volume.kind import VolumeKind

__all__ = ["VolumeKind"]
