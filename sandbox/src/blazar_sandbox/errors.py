"""How does a service refuse a request?"""

UNROUTED = "HTTPNotFound"
"""The code of a refusal of a path that no route has."""


class ApiError(Exception):
    """A refusal with its HTTP status; each service renders it in its own form."""

    def __init__(self, status: int, message: str, *, code: str = "", headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        """The machine's word for it: an error code of Placement, an exception name of Neutron."""
        self.headers = headers


def bad_request(message: str, code: str = "") -> ApiError:
    """Refuse a request that is wrong in itself."""
    return ApiError(400, message, code=code)


def forbidden(message: str, code: str = "") -> ApiError:
    """Refuse a caller who may not do this."""
    return ApiError(403, message, code=code)


def not_found(message: str, code: str = "") -> ApiError:
    """Refuse because the thing is not there."""
    return ApiError(404, message, code=code)


def conflict(message: str, code: str = "") -> ApiError:
    """Refuse because of how things stand."""
    return ApiError(409, message, code=code)
