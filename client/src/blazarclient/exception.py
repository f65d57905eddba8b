"""The errors of the library and of the service.

Each error has a default `message` and a `code`. For an error answer of the service, `code` is the HTTP
status, and the text is ``ERROR:`` and the service's explanation.
"""

from __future__ import annotations

from typing import Any


class BlazarClientException(Exception):
    """The base class of the errors of this library, raised for every HTTP status from 400 on."""

    message = "An unknown exception occurred %s."
    code = 500

    def __init__(self, message: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("code", self.code)
        self.code = kwargs["code"]
        self.kwargs = kwargs
        if message is None:
            message = self.message % kwargs if "%s" in self.message else self.message
        super().__init__(message)

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """What a shortage or an exceeded quota is made of, as version 1.3 of the API tells it."""
        return list(self.kwargs.get("reasons") or ())

    @property
    def suggestions(self) -> dict[str, Any] | None:
        """What could be had instead: `answers`, as those to a question for availability, and whether the
        search was `cut_short`. None where the service does not tell; version 1.6 of the API does."""
        found: dict[str, Any] | None = self.kwargs.get("suggestions")
        return found

    @property
    def blocking(self) -> dict[str, Any] | None:
        """The `leases` that stand in the way, and how many `more` there are. None as for `suggestions`."""
        found: dict[str, Any] | None = self.kwargs.get("blocking")
        return found

    @property
    def impact(self) -> dict[str, Any] | None:
        """What a refused maintenance would do to leases, as `preview` returns it; None with other errors."""
        found: dict[str, Any] | None = self.kwargs.get("impact")
        return found


class CommandError(BlazarClientException):
    """The options are not enough to authenticate."""

    message = "You have to provide all options like user name or tenant id to make authentication possible."
    code = 401


class NotAuthorized(BlazarClientException):
    """The request was not authorised."""

    message = "Not authorized request."
    code = 401


class NoBlazarEndpoint(BlazarClientException):
    """The catalog has no endpoint of the reservation service."""

    message = "No publicURL endpoint for Blazar found. Set endpoint for Blazar in the Keystone."
    code = 404


class NoUniqueMatch(BlazarClientException):
    """Several resources have the given name."""

    message = "There is no unique requested resource."
    code = 409


class UnsupportedVersion(BlazarClientException):
    """There is no client for this version of the API."""

    message = "Unsupported client version requested."
    code = 406


class IncorrectLease(BlazarClientException):
    """Parameters of a lease contradict each other."""

    message = "The lease parameters are incorrect."
    code = 409


class DuplicatedLeaseParameters(BlazarClientException):
    """A parameter of a lease was given twice."""

    message = "The lease parameters are duplicated."
    code = 400


class InsufficientAuthInformation(BlazarClientException):
    """Neither a session nor an endpoint with a token was given."""

    message = (
        "The passed arguments are insufficient for the authentication. "
        "The instance of keystoneauth1.session.Session class is required."
    )
    code = 400


class ResourcePropertyNotFound(BlazarClientException):
    """No visible host has this property."""

    message = "The resource property does not exist."
    code = 404
