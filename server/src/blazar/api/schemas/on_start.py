"""What is to be started with a lease, in the bodies of requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import BeforeValidator, WithJsonSchema

from blazar.api.schemas.fields import sentence
from blazar.api.schemas.subscriptions import LONGEST_URL
from blazar.domain.lease.start_task import StackRequest, StartTaskType
from blazar.service.commands import StartTaskWish, WebhookWish
from blazar.service.webhook_signature import new_secret

LARGEST = 512 * 1024
"""Bytes of a template with its parameters and its environment, as JSON. Heat takes no larger template by
default."""
MOST_MINUTES = 7 * 24 * 60
TYPES = (StartTaskType.STACK.value, StartTaskType.WEBHOOK.value)
OF_STACK = frozenset({"type", "template", "template_url", "parameters", "environment", "timeout_minutes"})
OF_WEBHOOK = frozenset({"type", "url"})


def _on_start(value: object) -> StartTaskWish | None:
    if value is None or isinstance(value, StartTaskWish):
        return value
    if not isinstance(value, dict) or value.get("type") not in TYPES:
        raise sentence("on_start is an object whose type is stack or webhook.")
    if value["type"] == StartTaskType.WEBHOOK:
        _check_keys(value, OF_WEBHOOK)
        return StartTaskWish(webhook=WebhookWish(_url(value, "url"), str(uuid4()), new_secret()))
    _check_keys(value, OF_STACK)
    return StartTaskWish(stack=_stack(value))


def _stack(value: Mapping[str, Any]) -> StackRequest:
    template, template_url = value.get("template"), value.get("template_url")
    if (template is None) == (template_url is None):
        raise sentence("In on_start, give either template or template_url.")
    if template_url is not None and urlsplit(_url(value, "template_url")).scheme not in ("http", "https"):
        raise sentence("In on_start, template_url begins with https:// or http://.")
    found = {name: _object(value, name) for name in ("template", "parameters", "environment")}
    if len(json.dumps(found)) > LARGEST:
        raise sentence(f"In on_start, all of a stack has at most {LARGEST} bytes.")
    return StackRequest(
        None if template is None else found["template"],
        template_url,
        found["parameters"],
        found["environment"],
        _minutes(value.get("timeout_minutes")),
    )


def _check_keys(value: Mapping[str, Any], known: frozenset[str]) -> None:
    """Refuse what is not known: a parameter that is misspelled would be missed at the start only."""
    if unknown := sorted(value.keys() - known):
        raise sentence(f"In on_start, there is no {unknown[0][:100]}, only {', '.join(sorted(known))}.")


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise sentence(f"In on_start, {name} is an object.")
    return found


def _url(value: Mapping[str, Any], name: str) -> str:
    url = value.get(name)
    if not isinstance(url, str) or not 1 <= len(url) <= LONGEST_URL:
        raise sentence(f"In on_start, {name} is a string of at most {LONGEST_URL} characters.")
    try:
        urlsplit(url)
    except ValueError:
        raise sentence(f"In on_start, {name} is not an address.") from None
    return url


def _minutes(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_MINUTES:
        raise sentence(f"In on_start, timeout_minutes is a number from 1 to {MOST_MINUTES}.")
    return value


_OBJECT = {"type": ["object", "null"]}
_STACK = {
    "type": "object",
    "title": "A stack",
    "properties": {
        "type": {"const": "stack"},
        "template": {**_OBJECT, "description": "A template of Heat (HOT)."},
        "template_url": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": LONGEST_URL,
            "pattern": "^https?://",
            "description": "Where Heat reads the template, in place of it.",
        },
        "parameters": {
            **_OBJECT,
            "description": "The template's parameters. In their texts, `{lease.FIELD}` and "
            "`{reservations.N.FIELD}` stand for fields of the lease, and of its reservations from 0 on. They "
            "are never shown.",
        },
        "environment": {**_OBJECT, "description": "Heat's environment. It is never shown."},
        "timeout_minutes": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MOST_MINUTES,
            "description": "How long Heat may take to make it.",
        },
    },
    "required": ["type"],
    "additionalProperties": False,
}
_WEBHOOK = {
    "type": "object",
    "title": "A webhook",
    "properties": {
        "type": {"const": "webhook"},
        "url": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_URL,
            "description": "Where messages are sent, as those of subscriptions are.",
        },
    },
    "required": ["type", "url"],
    "additionalProperties": False,
}
OnStartField = Annotated[
    StartTaskWish | None,
    BeforeValidator(_on_start),
    WithJsonSchema(
        {
            "anyOf": [_STACK, _WEBHOOK, {"type": "null"}],
            "description": "What is started with the lease: a stack of Heat, which is made when all that is "
            "reserved is ready and deleted before the end, or a webhook, which is told of the start and of "
            "the end.",
            "examples": [{"type": "stack", "template_url": "https://templates.example.com/cluster.yaml"}],
        }
    ),
]
