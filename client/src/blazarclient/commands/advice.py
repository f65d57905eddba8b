"""What can the user do about an error?

The first line is what happened, in the service's own words; the second, where there is something to do, says what.
"""

from __future__ import annotations

import requests
from keystoneauth1 import exceptions as ksa

from blazarclient import exception


def advise(error: Exception, command: str = "") -> str:
    """The error as the user reads it; `command` is the command's name, which tells `blazar` from `openstack`."""
    text = str(error) or type(error).__name__
    details = getattr(error, "kwargs", {})
    hint = _hint(error, _Words(command, details.get("noun")))
    request_id = details.get("request_id")
    if request_id and getattr(error, "code", 0) >= 500:
        text += f" (request id {request_id})"
    return f"{text}\n{hint}" if hint else text


class _Words:
    """How commands are called where this one was called."""

    def __init__(self, command: str, noun: str | None) -> None:
        self._plugin = command.startswith("reservation")
        self.lists = command.endswith("list")
        self.deletes = command.endswith("delete")
        nouns = ("lease", "host", "floatingip")
        self.noun = noun or next((word for word in nouns if word in command), "lease")

    def call(self, noun: str, verb: str) -> str:
        return f"`openstack reservation {noun} {verb}`" if self._plugin else f"`blazar {noun}-{verb}`"


def _hint(error: Exception, words: _Words) -> str:
    match error:
        case ksa.EndpointNotFound() | ksa.EmptyCatalog():
            return (
                "The catalog has no reservation service for you. Check OS_REGION_NAME and OS_INTERFACE, or name its "
                "address with --os-endpoint-override."
            )
        case ksa.MissingRequiredOptions() | ksa.NoMatchingPlugin():
            return "Say who you are: OS_CLOUD with a clouds.yaml, or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME."
        case ksa.Unauthorized():
            return "Check user, password and project (OS_CLOUD or the OS_* variables)."
        case ksa.SSLError() | requests.exceptions.SSLError():
            return "Name the certificate authority with --os-cacert (OS_CACERT)."
        case ksa.ConnectTimeout() | ksa.ConnectFailure() | requests.ConnectionError():
            return "Nobody answers at this address. Check OS_AUTH_URL, the network, and whether the service runs."
        case exception.ResourcePropertyNotFound():
            listing = words.call("host", _verb(words, "property", "list"))
            return f"See the properties there are with {listing}; private ones need --all."
        case exception.NoUniqueMatch():
            return f"Use the id: {words.call(words.noun, 'list')} shows it."
        case exception.BlazarClientException():
            return _status_hint(error.code, words)
        case _:
            return ""


def _verb(words: _Words, noun: str, verb: str) -> str:
    return f"{noun} {verb}" if words.call("", "").startswith("`openstack") else f"{noun}-{verb}"


def _status_hint(status: int, words: _Words) -> str:
    match status:
        case 401:
            return "Your token was not accepted. Check user, password and project (OS_CLOUD or the OS_* variables)."
        case 403:
            return "Your roles in this project do not allow it. An administrator can do it, or change the policy."
        case 404 if words.lists:
            return "The service here may not care for resources of this kind. Ask its operator which kinds it offers."
        case 404:
            return f"See what there is with {words.call(words.noun, 'list')}."
        case 409 if words.deletes:
            return f"Its leases must be over, or deleted, first: see {words.call('calendar', 'show')}."
        case 409 if words.noun == "lease":
            return f"See what is free when with {words.call('calendar', 'show')}."
        case 502 | 503 | 504:
            return "The service is busy or down. Try again in a minute."
        case _:
            return ""
