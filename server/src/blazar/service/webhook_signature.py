"""The messages of webhooks as receivers get them, with the signature by which they know who has sent them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from blazar.service.ports import WebhookMessage, message_name

SECRET_PREFIX = "whsec_"  # noqa: S105 - it shows what the text is, and is no secret
SECRET_BYTES = 32


def new_secret() -> str:
    """Return a new secret, in the form in which receivers are given it."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def body_of(message_id: int, subscription_id: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a message, as receivers and the clients of streams get it."""
    return {"id": message_name(message_id), "subscription_id": subscription_id, **document}


def signed(message: WebhookMessage, now: datetime) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a message that is sent ``now``.

    The signature is the HMAC-SHA256 of id, timestamp and body with a dot between them, as the Standard
    Webhooks specification has it, so that its libraries verify it."""
    body = json.dumps(body_of(message.id, message.subscription_id, message.document)).encode()
    stamp = str(int(now.timestamp()))
    key = base64.b64decode(message.secret.removeprefix(SECRET_PREFIX))
    content = b".".join((message.name.encode(), stamp.encode(), body))
    digest = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "blazar",
        "webhook-id": message.name,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{digest}",
    }
    return headers, body
