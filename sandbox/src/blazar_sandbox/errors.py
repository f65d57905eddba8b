"""Errors that a service answers with."""

NO_ROUTE = "HTTPNotFound"
"""The code of the error for a path without a route."""


class ApiError(Exception):
    """An error response with its HTTP status; each service renders it in its own form."""

    def __init__(
        self, status: int, message: str, *, code: str = "", headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        """The code for programs: an error code of Placement, or an exception name of Neutron."""
        self.headers = headers


def bad_request(message: str, code: str = "") -> ApiError:
    """Return the error for an invalid request."""
    return ApiError(400, message, code=code)


def forbidden(message: str, code: str = "") -> ApiError:
    """Return the error for a caller without the permission."""
    return ApiError(403, message, code=code)


def not_found(message: str, code: str = "") -> ApiError:
    """Return the error for an object that does not exist."""
    return ApiError(404, message, code=code)


def conflict(message: str, code: str = "") -> ApiError:
    """Return the error for a request that conflicts with the state."""
    return ApiError(409, message, code=code)
