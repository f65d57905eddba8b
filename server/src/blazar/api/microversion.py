"""Microversions: the version that a request asks for, and the headers of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import falcon
import microversion_parse

SERVICE_TYPE = "reservation"
HEADER = "OpenStack-API-Version"
VERSION = "blazar.api_version"
"""The key of the request's version in the WSGI environ."""
Version = tuple[int, int]
B = TypeVar("B")
MINIMUM: Version = (1, 0)
MAXIMUM: Version = (1, 43)

_FORM = re.compile(r"[1-9]\d*\.(?:[1-9]\d*|0)", re.ASCII)


def text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def negotiate(header: str | None) -> Version:
    """Return the version asked for; API 1.0 for ``latest``, and where the header does not name this service.

    Raises falcon.HTTPError."""
    try:
        asked = microversion_parse.get_version({HEADER.lower(): header}, SERVICE_TYPE) if header else None
    except ValueError:
        asked = header
    if asked is None or asked == "latest":
        return MINIMUM
    if not _FORM.fullmatch(asked) or len(asked) > 20:
        raise falcon.HTTPBadRequest(
            description=f"API Version String {asked[:40]} is of invalid format. Must be of format "
            "MajorNum.MinorNum."
        )
    major, minor = asked.split(".")
    version = int(major), int(minor)
    if not MINIMUM <= version <= MAXIMUM:
        raise falcon.HTTPNotAcceptable(
            description=f"Version {asked} is not supported by the API. "
            f"Minimum is {text(MINIMUM)} and maximum is {text(MAXIMUM)}."
        )
    return version


def headers(version: Version) -> Mapping[str, str]:
    return {HEADER: f"{SERVICE_TYPE} {text(version)}", "Vary": HEADER}


def newest(bodies: Mapping[Version, B], version: Version) -> B:
    """Return the last of the bodies that is not later than the version."""
    return bodies[max(since for since in bodies if since <= version)]
