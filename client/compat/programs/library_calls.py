"""A program that makes every call of the library that scripts make, and prints the results as JSON.

The Python of an environment runs it; RECORDER names the endpoint of a cloud with canned answers.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from keystoneauth1 import session, token_endpoint

from blazarclient import client, exception

LEASE, MISSING, ADDRESS = sys.argv[1:]
ENDPOINT = os.environ["RECORDER"]
HOSTS = {"resource_type": "physical:host", "min": 1, "max": 1}
METHODS = {
    "lease": ("create", "get", "update", "delete", "list"),
    "host": ("create", "get", "update", "delete", "list", "list_properties", "get_property", "set_property"),
    "floatingip": ("create", "get", "delete", "list"),
    "allocation": ("get", "list"),
}
# Manager, method, positional arguments, named arguments.
CALLS: list[tuple[str, str, list[Any], dict[str, Any]]] = [
    ("lease", "create", ["n", "now", "2050-01-01 10:00", [HOSTS], []], {}),
    ("lease", "create", ["n", "now", "2050-01-01 10:00", [HOSTS], [], "2050-01-01 09:00"], {}),
    (
        "lease",
        "create",
        [],
        {"name": "n", "start": "a", "end": "b", "reservations": [], "events": [], "before_end": "c"},
    ),
    ("lease", "get", [LEASE], {}),
    ("lease", "get", [MISSING], {}),
    ("lease", "update", [LEASE], {}),
    ("lease", "update", [LEASE, "new name"], {}),
    ("lease", "update", [LEASE], {"name": "z", "reservations": [{"id": "r", "min": 2}]}),
    ("lease", "update", [LEASE], {"prolong_for": "1h", "defer_by": "30m"}),
    ("lease", "update", [LEASE], {"reduce_by": "90s", "advance_by": "2d"}),
    ("lease", "update", [LEASE], {"prolong_for": "1h", "reduce_by": "2h"}),
    ("lease", "update", [LEASE], {"prolong_for": "1h", "end_date": "2050-01-09 10:00"}),
    ("lease", "update", [LEASE], {"end_date": "2050-01-02 10:00", "start_date": "2050-1-1 9:0"}),
    ("lease", "update", [LEASE], {"end_date": "2050-01-02T10:00"}),
    ("lease", "update", [LEASE], {"prolong_for": "1y"}),
    ("lease", "update", [LEASE], {"prolong_for": "1.5h"}),
    ("lease", "update", [LEASE], {"reservations": []}),
    ("lease", "delete", [LEASE], {}),
    ("lease", "list", [], {}),
    ("lease", "list", ["start_date"], {}),
    ("lease", "list", [], {"sort_by": "name"}),
    ("lease", "list", [], {"sort_by": "nothing"}),
    ("host", "create", ["compute-0001"], {"gpu": "True", "n": 5}),
    ("host", "get", ["1"], {}),
    ("host", "get", ["99"], {}),
    ("host", "update", ["1", {}], {}),
    ("host", "update", ["1"], {"values": {"gpu": "False"}}),
    ("host", "delete", ["1"], {}),
    ("host", "list", [], {"sort_by": "hypervisor_hostname"}),
    ("host", "list_properties", [], {}),
    ("host", "list_properties", [], {"detail": True, "all": True, "sort_by": "property"}),
    ("host", "get_property", ["gpu"], {}),
    ("host", "get_property", ["nothing"], {}),
    ("host", "set_property", ["gpu", True], {}),
    ("host", "set_property", [], {"property_name": "gpu", "private": False}),
    ("floatingip", "create", ["n1", "172.24.4.10"], {}),
    ("floatingip", "get", [ADDRESS], {}),
    ("floatingip", "list", [], {"sort_by": "id"}),
    ("floatingip", "delete", [ADDRESS], {}),
    ("allocation", "get", ["os-hosts", "1"], {}),
    ("allocation", "list", ["os-hosts"], {}),
    ("allocation", "list", ["os-hosts"], {"sort_by": "resource_id"}),
]
ERRORS = (
    "BlazarClientException", "CommandError", "NotAuthorized", "NoBlazarEndpoint", "NoUniqueMatch",
    "UnsupportedVersion", "IncorrectLease", "DuplicatedLeaseParameters", "InsufficientAuthInformation",
    "ResourcePropertyNotFound",
)  # fmt: skip


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return {"gives": call(*args, **kwargs)}
    except exception.BlazarClientException as error:
        return {"raises": type(error).__name__, "says": str(error), "code": error.kwargs["code"]}
    except Exception as error:  # noqa: BLE001 (other errors are an answer as well)
        return {"raises": type(error).__name__}


def parameters(method: Callable[..., Any]) -> list[list[str]]:
    """Return the names, kinds and defaults of the parameters."""
    found = inspect.signature(method).parameters.values()
    return [
        [item.name, item.kind.name, repr(item.default) if item.default is not item.empty else ""]
        for item in found
    ]


def calls(made: Any) -> list[Any]:
    results = []
    for manager, method, args, kwargs in CALLS:
        results.append(
            [manager, method, args, kwargs, outcome(getattr(getattr(made, manager), method), *args, **kwargs)]
        )
    return results


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    auth = token_endpoint.Token(ENDPOINT, "a-token")
    made = client.Client(
        version="1", session=session.Session(auth=auth), interface="public", region_name="RegionOne"
    )
    old_way = client.Client("1a0", blazar_url=ENDPOINT, auth_token="a-token")
    results = {
        "with a session": calls(made),
        "with a url and a token": calls(old_way),
        "class": [type(made).__module__, type(made).__name__],
        "versions": {
            str(version): str(outcome(client.Client, version)) for version in (1, "1", "1a0", "2", None)
        },
        "errors": {name: [getattr(exception, name).code, str(getattr(exception, name)())] for name in ERRORS},
        "signatures": {
            f"{manager}.{method}": parameters(getattr(getattr(made, manager), method))
            for manager, methods in METHODS.items()
            for method in methods
        },
    }
    results["signatures"]["Client"] = parameters(client.Client)
    print(json.dumps(results))
