"""A Cinder driver that keeps nothing: volumes and snapshots are Cinder's records alone."""

from __future__ import annotations

from typing import Any

from cinder.volume import driver


class LabVolumeDriver(driver.VolumeDriver):  # type: ignore[misc]  # cinder has no types
    """A driver that can do at once whatever it is asked: there are no data, and there is no end of space."""

    VERSION = "1.0"

    def do_setup(self, context: Any) -> None:
        """Nothing to connect to."""

    def check_for_setup_error(self) -> None:
        """Nothing that can be missing."""

    def _update_volume_stats(self) -> None:
        self._stats = {
            "volume_backend_name": self.configuration.safe_get("volume_backend_name"),
            "vendor_name": "lab",
            "driver_version": self.VERSION,
            "storage_protocol": "lab",
            "total_capacity_gb": "infinite",
            "free_capacity_gb": "infinite",
        }

    def create_volume(self, volume: Any) -> None:
        """Nothing to make; so for all that follow."""

    def delete_volume(self, volume: Any) -> None: ...

    def extend_volume(self, volume: Any, new_size: int) -> None: ...

    def create_snapshot(self, snapshot: Any) -> None: ...

    def delete_snapshot(self, snapshot: Any) -> None: ...

    def create_volume_from_snapshot(self, volume: Any, snapshot: Any) -> None: ...

    def create_cloned_volume(self, volume: Any, src_vref: Any) -> None: ...

    def clone_image(
        self, context: Any, volume: Any, image_location: Any, image_meta: Any, image_service: Any
    ) -> tuple[dict[str, Any], bool]:
        """Tell that the image is in the volume already, so that Cinder does not fetch it."""
        return {}, True

    def copy_volume_to_image(
        self, context: Any, volume: Any, image_service: Any, image_meta: Any
    ) -> None: ...

    def ensure_export(self, context: Any, volume: Any) -> None: ...

    def create_export(self, context: Any, volume: Any, connector: Any) -> None: ...

    def remove_export(self, context: Any, volume: Any) -> None: ...

    def initialize_connection(self, volume: Any, connector: Any, **more: Any) -> dict[str, Any]:
        """Return what a fake hypervisor needs to know of a volume."""
        return {"driver_volume_type": "fake", "data": {"volume_id": volume.id}}

    def terminate_connection(self, volume: Any, connector: Any, **more: Any) -> None: ...
