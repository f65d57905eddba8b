"""The entity tag of a lease, and the condition of a request that its lease still has it.

The tag is the lease's revision: each commit that changes anything of a lease gives it another one."""

from __future__ import annotations

import re

from blazar.api.microversion import Version
from blazar.api.routing import HeaderField, Request
from blazar.domain.errors import InvalidInput
from blazar.domain.lease.lease import Lease

SINCE: Version = (1, 5)
"""The version of the API that has entity tags."""
_TAG = r'(?:W/)?"[\x21\x23-\x7e]{0,64}"'
_TAGS = rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG}){{0,9}}"
_IF_MATCH = re.compile(rf"\*|{_TAGS}", re.ASCII)
# Proxies that compress an answer make its tag a weak one, or put a word behind it. A revision means the same.
_OURS = re.compile(r'"(\d{1,18})(?:-\w+)?"', re.ASCII)

IF_MATCH = HeaderField(
    "If-Match",
    SINCE,
    "The `ETag` of an answer. The request is refused with 412 where the lease has changed since.",
    rf"^(?:\*|{_TAGS})$",
)


def etag(lease: Lease) -> str:
    """Return the entity tag of the lease."""
    return f'"{lease.revision}"'


def expected_revisions(request: Request) -> tuple[int, ...] | None:
    """Return the revisions of which the lease must have one, as If-Match asks for it; None where any will do.

    Raises InvalidInput on a header that is no list of entity tags."""
    asked = request.header(IF_MATCH)
    if asked is None or asked == "*":
        return None
    if not _IF_MATCH.fullmatch(asked):
        raise InvalidInput('Malformed header If-Match: an ETag in quotes is expected, such as "7".')
    return tuple(int(number) for number in _OURS.findall(asked))
