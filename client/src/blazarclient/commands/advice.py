"""The text of errors, with advice for the user.

The first line is the service's own explanation. A second line says what the user can do, if there is advice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import requests
from keystoneauth1 import exceptions as ksa

from blazarclient import exception
from blazarclient.formatting.explanations import describe_explanation
from blazarclient.kinds.base import CommandNames
from blazarclient.kinds.registry import installed_kinds, registered_resources
from blazarclient.v1.explanations import EXCEEDED, SHORTAGE

NO_OFFER = "There is no offer "
"""How the sentence of an unknown offer begins, or of one that has expired."""
CLAIMED = "has been claimed already"


def describe_error(error: Exception, command: str = "") -> str:
    """Return the error as the user reads it; the name of the command tells `blazar` from `openstack`."""
    text = str(error) or type(error).__name__
    details = getattr(error, "kwargs", {})
    noun = details.get("noun") or _noun(command)
    advice = _advice(error, CommandNames(command, noun or "lease"), is_about_noun=noun is not None)
    request_id = details.get("request_id")
    if request_id and getattr(error, "code", 0) >= 500:
        text += f" (request id {request_id})"
    more = [*_parts(details.get("reasons") or ()), *describe_explanation(details)]
    return "\n".join([text, *more, *([advice] if advice else [])])


def _parts(reasons: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many resources each part of a requirement leaves by itself, where the service tells."""
    parts = [part for reason in reasons for part in reason.get("parts") or ()]
    head = ["What each part of the requirement leaves by itself:"] if parts else []
    return [*head, *(f"{part['matched']:6}  {part['part']}" for part in parts)]


def _noun(command: str) -> str | None:
    """Return the noun of the lease or the resource that the command is about; None if it is about neither."""
    words = command.removeprefix("reservation ").replace("-", " ") + " "
    if words.startswith(("offer ", "series ")):
        return words.partition(" ")[0]
    nouns = ("lease", *(resource.noun for resource in registered_resources()))
    return next((noun for noun in nouns if words.startswith(f"{noun.replace('-', ' ')} ")), None)


def _advice(error: Exception, names: CommandNames, is_about_noun: bool) -> str:
    by_kind = (kind.advice(error, names) for kind in installed_kinds())
    found = next(filter(None, by_kind), "")
    # A list of what the command is about helps where that was not found, and nothing else.
    is_missing = getattr(error, "code", 0) == 404 and not names.is_list
    if found or (is_missing and (names.is_create or not is_about_noun)):
        return found
    return _general_advice(error, names)


def _general_advice(error: Exception, names: CommandNames) -> str:
    match error:
        case ksa.EndpointNotFound() | ksa.EmptyCatalog():
            return (
                "The catalog has no reservation service for you. Check OS_REGION_NAME and OS_INTERFACE, "
                "or name its address with --os-endpoint-override."
            )
        case ksa.MissingRequiredOptions() | ksa.NoMatchingPlugin():
            return (
                "Say who you are: OS_CLOUD with a clouds.yaml, or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, "
                "OS_PROJECT_NAME."
            )
        case ksa.Unauthorized():
            return "Check user, password and project (OS_CLOUD or the OS_* variables)."
        case ksa.SSLError() | requests.exceptions.SSLError():
            return "Name the certificate authority with --os-cacert (OS_CACERT)."
        case ksa.ConnectTimeout() | ksa.ConnectFailure() | requests.ConnectionError():
            return (
                "This address does not answer. Check OS_AUTH_URL, the network, and whether the service runs."
            )
        case exception.NoUniqueMatch():
            return f"Use the id: {names.call(names.noun, 'list')} shows it."
        case exception.BlazarClientException() if SHORTAGE in str(error):
            return (
                f"See when you could have it with {names.call('availability', 'show')}, "
                f"and what is free when with {names.call('capacity', 'show')}."
            )
        case exception.BlazarClientException() if str(error).startswith(NO_OFFER):
            return f"See what is held with {names.call('offer', 'list')}."
        case exception.BlazarClientException() if CLAIMED in str(error):
            return f"See it with {names.call('lease', 'show')}."
        case exception.BlazarClientException() if error.impact:
            return (
                "With --force the hosts are taken away all the same; --dry-run --force shows what that does."
            )
        case exception.BlazarClientException() if EXCEEDED in str(error):
            return f"See your limits and what your leases use with {names.call('usage', 'show')}."
        case exception.BlazarClientException():
            return _advice_for_status(error.code, names)
        case _:
            return ""


def _advice_for_status(status: int, names: CommandNames) -> str:
    match status:
        case 401:
            return (
                "Your token was not accepted. "
                "Check user, password and project (OS_CLOUD or the OS_* variables)."
            )
        case 403:
            return (
                "Your roles in this project do not allow it. "
                "An administrator can do it, or change the policy."
            )
        case 404 if names.is_list:
            return (
                "The service here may not offer resources of this kind. "
                "Ask its operator which kinds it offers."
            )
        case 404:
            return f"See what there is with {names.call(names.noun, 'list')}."
        case 409 if names.is_delete:
            return f"Its leases must be over, or deleted, first: see {names.call('calendar', 'show')}."
        case 409 if names.noun == "lease" and not names.is_create:
            return f"See how it is now with {names.call('lease', 'show')}."
        case 502 | 503 | 504:
            return "The service is busy or down. Try again in a minute."
        case _:
            return ""
