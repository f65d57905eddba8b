"""The version documents: the versions of the API and their addresses."""

from __future__ import annotations

from typing import Annotated
from wsgiref.util import application_uri

from pydantic import Field
from typing_extensions import TypedDict

from blazar.api import microversion
from blazar.api.routing import Request


class Link(TypedDict):
    href: Annotated[str, Field(description="The address.")]
    rel: Annotated[str, Field(description="`self`.")]


class Version(TypedDict):
    id: Annotated[str, Field(description="`v1.0`.")]
    status: Annotated[str, Field(description="`CURRENT`.")]
    links: Annotated[list[Link], Field(description="Its address.")]
    min_version: Annotated[str, Field(description="The lowest microversion.")]
    max_version: Annotated[str, Field(description="The highest microversion.")]


class VersionsReply(TypedDict):
    versions: Annotated[list[Version], Field(description="The versions of the API.")]


class VersionReply(TypedDict):
    version: Annotated[Version, Field(description="The version.")]


def choices(request: Request) -> VersionsReply:
    """List the versions of the API."""
    return {"versions": [_v1(request)]}


def v1(request: Request) -> VersionReply:
    """Show version 1."""
    return {"version": _v1(request)}


def _v1(request: Request) -> Version:
    """Links are built on the address that the client used, with the prefix that the API is mounted at."""
    base = application_uri(dict(request.environ)).rstrip("/")
    return {
        "id": "v1.0",
        "status": "CURRENT",
        "links": [{"href": f"{base}/v1", "rel": "self"}],
        "min_version": microversion.text(microversion.MINIMUM),
        "max_version": microversion.text(microversion.MAXIMUM),
    }
