"""The key of a create, by which a client may make the request again without creating a second lease."""

from __future__ import annotations

import hashlib
import json
import re

from blazar.api.routing import HeaderField, Request
from blazar.domain.errors import InvalidInput
from blazar.service.commands import RequestKey

_KEY = r"[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?"
_FORM = re.compile(_KEY, re.ASCII)
IDEMPOTENCY_KEY = HeaderField(
    "Idempotency-Key",
    (1, 5),
    "A text of the client's for this request, such as a UUID. The same request with the same key creates no "
    "second lease, but is answered with the one that it has created, for as long as that lease is there. "
    "Another request with the key is refused with 422.",
    f"^{_KEY}$",
)


def request_key(request: Request) -> RequestKey | None:
    """Return the key of the request; None without one. Raises InvalidInput.

    The caller's user is a part of what makes two requests the same: a lease belongs to its user."""
    name = request.header(IDEMPOTENCY_KEY)
    if name is None:
        return None
    if not _FORM.fullmatch(name):
        raise InvalidInput(
            "Malformed header Idempotency-Key: up to 255 printable ASCII characters are expected."
        )
    asked = json.dumps([request.caller.user_id, request.body], sort_keys=True)
    return RequestKey(name, hashlib.sha256(asked.encode()).hexdigest())
