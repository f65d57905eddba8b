"""The extension of the kind network to the service: the noun ``network_segments``, and
``/v1/networksegments``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, NotRequired

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from blazar.api.authorization import Authorizer
from blazar.api.extension import ApiExtension
from blazar.api.lists import PageLink, listing_by_id
from blazar.api.routing import PagedList, Request, Route
from blazar.api.schemas.fields import Body, validated
from blazar.api.schemas.lists import PageQuery
from blazar.api.views.dates import stamp
from blazar.domain.resource import Registration
from blazar.kinds.network.names import MOST_ID, NetworkType, segment_of
from blazar.kinds.network.schema import LONGEST_PHYSICAL_NETWORK
from blazar.kinds.network.segments import NetworkSegments, NetworkSegmentsInterface, SegmentRange
from blazar.policies import base
from blazar.service.interface import Service
from blazar.service.pages import ResourcePage
from blazar.service.ports.kind import Dependencies

PATH = "/v1/networksegments"
ONE = PATH + "/{networksegment_id}"
SINCE = (1, 28)
GET, POST, DELETE = (f"blazar:networksegments:{verb}" for verb in ("get", "post", "delete"))
PAGE = 500
"""Segments that are asked of a manager at once."""
RULES = (
    base.documented(GET, base.READER_OR_ADMIN, "See the registered network segments.", "GET", PATH, ONE),
    base.documented(
        POST, base.ADMIN, "Register segments, so that networks on them can be reserved.", "POST", PATH
    ),
    base.documented(DELETE, base.ADMIN, "Remove a network segment that is not reserved.", "DELETE", ONE),
)

SegmentationId = Annotated[int, Field(strict=True, ge=1, le=MOST_ID)]
Type = Annotated[
    NetworkType, Field(strict=False, description="Neutron's type of the network that is made on it.")
]
Physical = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=LONGEST_PHYSICAL_NETWORK,
        description="Neutron's name of the physical network that has it; null for tunnels.",
    ),
]


class NetworkSegmentsCreate(Body):
    """Segments to register: one, or those from one number to another."""

    network_type: Type
    physical_network: Physical = None
    segmentation_id: Annotated[
        SegmentationId, Field(description="The number of the segment, or of the first.")
    ]
    last_segmentation_id: Annotated[
        SegmentationId | None,
        Field(description="The number of the last one, where there are several; at most 1000 at once."),
    ] = None

    @property
    def wanted(self) -> SegmentRange:
        last = self.segmentation_id if self.last_segmentation_id is None else self.last_segmentation_id
        return SegmentRange(self.network_type, self.physical_network, self.segmentation_id, last)


class NetworkSegmentView(TypedDict):
    """A registered segment."""

    id: Annotated[str, Field(description="Its id.")]
    name: Annotated[str, Field(description="What people call it, such as `vlan 101 of physnet1`.")]
    network_type: Annotated[str, Field(description="Neutron's type of networks on it.")]
    physical_network: Annotated[str | None, Field(description="The physical network; null for tunnels.")]
    segmentation_id: Annotated[int, Field(description="Its number.")]
    created_at: Annotated[str | None, Field(description="When it was made, in UTC: `2026-11-20 14:58:06`.")]
    updated_at: Annotated[str | None, Field(description="When it was last changed, in UTC; null if never.")]


class NetworkSegmentReply(TypedDict):
    networksegment: Annotated[NetworkSegmentView, Field(description="The segment.")]


class NetworkSegmentsReply(TypedDict):
    networksegments: Annotated[
        list[NetworkSegmentView],
        Field(description="The segments; in lists a page, in the order of their ids."),
    ]
    networksegments_links: NotRequired[
        Annotated[list[PageLink], Field(description="The link `next` to the next page, where there is one.")]
    ]


SEGMENT = TypeAdapter(NetworkSegmentReply)
SEGMENTS = TypeAdapter(NetworkSegmentsReply)


def _view(registration: Registration) -> NetworkSegmentView:
    segment = segment_of(registration)
    return {
        "id": registration.id,
        "name": registration.name,
        "network_type": segment.network_type,
        "physical_network": segment.physical_network,
        "segmentation_id": segment.segmentation_id,
        "created_at": stamp(registration.created_at),
        "updated_at": stamp(registration.updated_at),
    }


class NetworkSegmentActions:
    """The actions on registered segments."""

    def __init__(self, service: Service, authorizer: Authorizer) -> None:
        self._service = service
        self._authorizer = authorizer

    def list(self, request: Request) -> PagedList:
        """List a page of the registered segments."""
        segments, query = self._segments(GET, request), request.exact_query(PageQuery)

        def ask(limit: int, after: str | None) -> Sequence[Registration]:
            return segments.list(ResourcePage(limit, after))

        listing = listing_by_id(ask, lambda each: each.id, query.limit, query.marker, PAGE)
        return listing.answer(request, "networksegments", _view)

    def create(self, request: Request) -> NetworkSegmentsReply:
        """Register a segment, or a range of them: all or none."""
        segments = self._segments(POST, request)
        wanted = validated(NetworkSegmentsCreate, request.body).wanted
        return {"networksegments": [_view(each) for each in segments.register(wanted, request.caller)]}

    def show(self, request: Request) -> NetworkSegmentReply:
        """Show a registered segment."""
        return {"networksegment": _view(self._segments(GET, request).get(request.id("networksegment_id")))}

    def delete(self, request: Request) -> None:
        """Remove a segment without reservations."""
        self._segments(DELETE, request).unregister(request.id("networksegment_id"))

    def _segments(self, rule: str, request: Request) -> NetworkSegmentsInterface:
        self._authorizer.require(rule, request.caller)
        found: NetworkSegmentsInterface = self._service.called_by(request.caller).noun("network_segments")
        return found


class NetworkSegmentsExtension(ApiExtension):
    """The segments in our care."""

    name = "network_segments"
    interfaces: ClassVar[Mapping[str, type]] = {"network_segments": NetworkSegmentsInterface}
    policies = RULES

    def use_cases(self, dependencies: Dependencies) -> Mapping[str, object]:
        found = NetworkSegments(dependencies.database, dependencies.cloud, dependencies.clock)
        return {"network_segments": found}

    def routes(self, service: Service, authorizer: Authorizer) -> Sequence[Route]:
        actions = NetworkSegmentActions(service, authorizer)
        # fmt: off
        return (
            Route("GET",    PATH, actions.list, reply=SEGMENTS, query=PageQuery, since=SINCE),
            Route("POST",   PATH, actions.create, 201, body=NetworkSegmentsCreate, reply=SEGMENTS,
                  since=SINCE),
            Route("GET",    ONE, actions.show, reply=SEGMENT, since=SINCE),
            Route("DELETE", ONE, actions.delete, 204, since=SINCE),
        )
        # fmt: on
