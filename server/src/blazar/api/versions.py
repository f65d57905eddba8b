"""Which versions of the API there are, and where."""

from __future__ import annotations

from wsgiref.util import application_uri

from typing_extensions import TypedDict

from blazar.api import microversion
from blazar.api.routing import Request


class Link(TypedDict):
    href: str
    rel: str


class Version(TypedDict):
    id: str
    status: str
    links: list[Link]
    min_version: str
    max_version: str


class VersionsReply(TypedDict):
    versions: list[Version]


class VersionReply(TypedDict):
    version: Version


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
