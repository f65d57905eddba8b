"""The one spelling of an IP address."""

from __future__ import annotations

import ipaddress

from blazar.domain.errors import InvalidIPFormat


def canonical_address(text: object) -> str:
    """Return the one spelling of an IPv4 or IPv6 address. Raises InvalidIPFormat."""
    if not isinstance(text, str) or "%" in text:  # a zone means something on one machine only
        raise InvalidIPFormat(ip=str(text)[:100])
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise InvalidIPFormat(ip=text[:100]) from None
