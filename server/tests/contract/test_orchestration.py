"""The Orchestration port: the cloud in memory and the sandbox behave the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from blazar.adapters.clock import SystemClock
from blazar.adapters.memory.cloud import MemoryCloud
from blazar.domain.errors import CloudRefused
from blazar.service.ports import Cloud, NewStack, Orchestration

from .places import Place, label, until

# The lab has no Heat.
pytestmark = pytest.mark.parametrize("place", ["memory", "sandbox"], indirect=True)

TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "parameters": {"flavor": {"type": "string", "default": "m1.small"}},
    "resources": {"thing": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}},
}
FAILING = {**TEMPLATE, "resources": {"bad": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}}}


def trusted(place: Place) -> Cloud:
    """The cloud as the service acts in it for the user."""
    theirs = place.cloud.as_user(place.token)
    expires = SystemClock().now() + timedelta(hours=1)
    trust_id = theirs.identity.create_trust(place.user, place.project, ["member"], expires, True)
    return place.cloud.as_trustee(trust_id)


@pytest.fixture
def heat(place: Place) -> Iterator[Orchestration]:
    yield trusted(place).orchestration


def new(name: str, **more: Any) -> NewStack:
    return NewStack(name, **{"template": TEMPLATE, "tags": ("blazar", "lease:1"), **more})


def test_a_cloud_tells_whether_it_has_a_heat(place: Place) -> None:
    assert place.cloud.orchestration.is_offered()
    assert place.cloud.as_user(place.token).orchestration.is_offered()


def test_a_stack_is_made_found_and_deleted(heat: Orchestration) -> None:
    name = label()
    assert heat.stack(name) is None
    made = heat.create_stack(new(name, parameters={"flavor": "x"}, timeout_minutes=5))
    found = until(
        "the stack is made", lambda: (s := heat.stack(name)) and s.status == "CREATE_COMPLETE" and s
    )
    assert (found.id, found.name, found.tags) == (made, name, {"blazar", "lease:1"})
    heat.delete_stack(found)
    until("the stack is gone", lambda: heat.stack(name) is None)
    heat.delete_stack(found)  # is gone, and that is no error


def test_a_name_is_taken_once(heat: Orchestration) -> None:
    name = label()
    heat.create_stack(new(name))
    with pytest.raises(CloudRefused, match="already exists"):
        heat.create_stack(new(name))


def test_stacks_of_other_projects_are_not_seen(place: Place, heat: Orchestration) -> None:
    name = label()
    made = heat.create_stack(new(name))
    with pytest.raises(CloudRefused):
        place.cloud.as_trustee("no-such-trust").orchestration.stack(name)
    assert made


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"parameters": {"nope": 1}}, "nope"),
        ({"template": {"resources": {}}}, "version"),
        ({"template": None, "template_url": "https://example.com/t"}, "retrieve"),
    ],
)
def test_bad_requests_are_refused_in_heats_words(heat: Orchestration, more: Any, said: str) -> None:
    with pytest.raises(CloudRefused, match=said):
        heat.create_stack(new(label(), **more))


def test_templates_are_looked_at_with_the_users_token(place: Place) -> None:
    theirs = place.cloud.as_user(place.token).orchestration
    theirs.check_template(new(label()), place.project)
    with pytest.raises(CloudRefused, match="version"):
        theirs.check_template(new(label(), template={"resources": {}}), place.project)


def test_why_a_stack_failed_is_told(place: Place, heat: Orchestration) -> None:
    name = label()
    if isinstance(place.cloud, MemoryCloud):
        place.cloud.state.stack_fails = "Resource CREATE failed: ValueError: resources.bad"
    heat.create_stack(new(name, template=FAILING))
    failed = until("the stack fails", lambda: (s := heat.stack(name)) and s.status == "CREATE_FAILED" and s)
    assert "resources.bad" in failed.reason
    heat.delete_stack(failed)
    until("the stack is gone", lambda: heat.stack(name) is None)


def test_a_cloud_without_heat(place: Place) -> None:
    if isinstance(place.cloud, MemoryCloud):
        place.cloud.state.without_heat = True
    else:
        catalog = place._admin.identity  # type: ignore[attr-defined]
        (service,) = catalog.services(type="orchestration")
        catalog.delete_service(service)
    assert not place.cloud.orchestration.is_offered()
