"""The flavor that a reservation was made with, as it was then."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class SourceFlavor(BaseModel):
    """A flavor as it was when it was reserved."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    ephemeral: int = 0
    swap: int = 0
    is_public: bool = True
    extra_specs: dict[str, str] = Field(default_factory=dict)

    def as_nova_tells(self) -> dict[str, Any]:
        """Under the names of Nova's API, as the answers of API 1.0 show it."""
        return {
            "id": self.id,
            "name": self.name,
            "vcpus": self.vcpus,
            "ram": self.ram,
            "disk": self.disk,
            "OS-FLV-EXT-DATA:ephemeral": self.ephemeral,
            "swap": self.swap,
            "os-flavor-access:is_public": self.is_public,
            "extra_specs": self.extra_specs,
        }
