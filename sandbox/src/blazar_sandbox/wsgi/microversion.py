"""Negotiation of microversions."""

from dataclasses import dataclass

from blazar_sandbox.errors import ApiError
from blazar_sandbox.wsgi.request import Request, Version


@dataclass(frozen=True)
class Microversions:
    """The microversions that a service supports."""

    service: str
    """Its name in the header ``OpenStack-API-Version``."""
    lowest: Version
    highest: Version
    old_header: str | None = None

    def of(self, request: Request) -> Version:
        """Return the requested microversion, by default the lowest."""
        wanted = _from_header(request.header("OpenStack-API-Version"), self.service)
        if wanted is None and self.old_header is not None:
            wanted = request.header(self.old_header)
        if wanted is None:
            return self.lowest
        if wanted == "latest":
            return self.highest
        version = _parse(wanted)
        if not self.lowest <= version <= self.highest:
            raise ApiError(
                406,
                f"Version {wanted} is not supported by the API. Minimum is {dotted(self.lowest)} and "
                f"maximum is {dotted(self.highest)}.",
            )
        return version

    def headers(self, version: Version) -> tuple[tuple[str, str], ...]:
        """Return the response headers that name the microversion."""
        told = [("OpenStack-API-Version", f"{self.service} {dotted(version)}")]
        vary = "OpenStack-API-Version"
        if self.old_header is not None:
            told.append((self.old_header, dotted(version)))
            vary += f", {self.old_header}"
        return (*told, ("Vary", vary))


def dotted(version: Version) -> str:
    """Return a version with a dot, as headers have it."""
    return f"{version[0]}.{version[1]}"


def _from_header(header: str | None, service: str) -> str | None:
    for part in (header or "").split(","):
        words = part.split()
        if len(words) == 2 and words[0].lower() == service:
            return words[1].lower()
    return None


def _parse(text: str) -> Version:
    major, _, minor = text.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise ApiError(
            400, f"API Version String {text} is of invalid format. Must be of format MajorNum.MinorNum."
        )
    return int(major), int(minor)
