"""The extension of storage:volume to the service: the noun ``volume_types``, and ``/v1/volumetypes``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.routing import Request, Route
from blazar.api.schemas.fields import Body, validated
from blazar.api.views.dates import stamp
from blazar.domain.resource import Registration
from blazar.kinds.volume.schema import LONGEST_REFERENCE, MOST
from blazar.kinds.volume.volume_types import (
    GIGABYTE,
    VOLUME,
    OfferedVolumes,
    VolumeTypes,
    VolumeTypesInterface,
)
from blazar.policies import base
from blazar.service.interface import Service
from blazar.service.ports.kind import Dependencies

PATH = "/v1/volumetypes"
ONE = PATH + "/{volumetype_id}"
SINCE = (1, 25)
GET, POST, PUT, DELETE = (f"blazar:volumetypes:{verb}" for verb in ("get", "post", "put", "delete"))
RULES = (
    base.documented(GET, base.READER_OR_ADMIN, "See the registered volume types.", "GET", PATH, ONE),
    base.documented(
        POST, base.ADMIN, "Register a volume type, so that volumes of it can be reserved.", "POST", PATH
    ),
    base.documented(PUT, base.ADMIN, "Change how much of a volume type can be reserved.", "PUT", ONE),
    base.documented(DELETE, base.ADMIN, "Remove a volume type that is not reserved.", "DELETE", ONE),
)

Gigabytes = Annotated[
    int, Field(strict=True, ge=0, le=MOST, description="How many GiB of it can be reserved.")
]
Count = Annotated[
    int, Field(strict=True, ge=0, le=MOST, description="How many volumes of it can be reserved.")
]


class VolumeTypeChange(Body):
    """How much of a volume type can be reserved."""

    gigabytes: Gigabytes
    volumes: Count

    @property
    def offered(self) -> OfferedVolumes:
        return OfferedVolumes(self.gigabytes, self.volumes)


class VolumeTypeCreate(VolumeTypeChange):
    """A volume type to register."""

    volume_type: Annotated[
        str,
        Field(
            min_length=1, max_length=LONGEST_REFERENCE, description="Cinder's id or name of the volume type."
        ),
    ]


class VolumeTypeView(TypedDict):
    """A registered volume type."""

    id: Annotated[str, Field(description="Cinder's id of the volume type.")]
    name: Annotated[str, Field(description="Its name, as it was when it was registered.")]
    gigabytes: Gigabytes
    volumes: Count
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class VolumeTypeReply(TypedDict):
    volumetype: Annotated[VolumeTypeView, Field(description="The volume type.")]


class VolumeTypesReply(TypedDict):
    volumetypes: Annotated[list[VolumeTypeView], Field(description="The registered volume types, by name.")]


VOLUME_TYPE = TypeAdapter(VolumeTypeReply)
VOLUME_TYPES = TypeAdapter(VolumeTypesReply)


def _view(registration: Registration) -> VolumeTypeView:
    return {
        "id": registration.id,
        "name": registration.name,
        "gigabytes": registration.inventory[GIGABYTE].capacity,
        "volumes": registration.inventory[VOLUME].capacity,
        "created_at": stamp(registration.created_at),
        "updated_at": stamp(registration.updated_at),
    }


class VolumeTypeActions:
    """The actions on registered volume types."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> VolumeTypesReply:
        """List the registered volume types."""
        return {"volumetypes": [_view(each) for each in self._volume_types(GET, request).list()]}

    def create(self, request: Request) -> VolumeTypeReply:
        """Register a volume type of Cinder, with how much of it can be reserved."""
        volume_types = self._volume_types(POST, request)
        body = validated(VolumeTypeCreate, request.body)
        return {"volumetype": _view(volume_types.register(body.volume_type, body.offered, request.caller))}

    def show(self, request: Request) -> VolumeTypeReply:
        """Show a registered volume type."""
        return {"volumetype": _view(self._volume_types(GET, request).get(request.id("volumetype_id")))}

    def change(self, request: Request) -> VolumeTypeReply:
        """Change how much can be reserved, to no less than is promised."""
        volume_types = self._volume_types(PUT, request)
        offered = validated(VolumeTypeChange, request.body).offered
        return {"volumetype": _view(volume_types.change(request.id("volumetype_id"), offered))}

    def delete(self, request: Request) -> None:
        """Remove a volume type without reservations."""
        self._volume_types(DELETE, request).unregister(request.id("volumetype_id"))

    def _volume_types(self, rule: str, request: Request) -> VolumeTypesInterface:
        self._authorizer.require(rule, request.caller)
        found: VolumeTypesInterface = self._service.called_by(request.caller).noun("volume_types")
        return found


class VolumeTypesExtension(ApiExtension):
    """The volume types in our care."""

    name = "volume_types"
    interfaces: ClassVar[Mapping[str, type]] = {"volume_types": VolumeTypesInterface}
    policies = RULES

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        found = VolumeTypes(dependencies.database, dependencies.cloud, dependencies.clock)
        return {"volume_types": found}

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        actions = VolumeTypeActions(service, authorizer)
        # fmt: off
        return (
            Route("GET",    PATH, actions.list, reply=VOLUME_TYPES, since=SINCE),
            Route("POST",   PATH, actions.create, 201, body=VolumeTypeCreate, reply=VOLUME_TYPE, since=SINCE),
            Route("GET",    ONE, actions.show, reply=VOLUME_TYPE, since=SINCE),
            Route("PUT",    ONE, actions.change, body=VolumeTypeChange, reply=VOLUME_TYPE, since=SINCE),
            Route("DELETE", ONE, actions.delete, 204, since=SINCE),
        )
        # fmt: on
