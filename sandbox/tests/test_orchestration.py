"""Tests of Heat: stacks through the SDK and bare calls."""

from collections.abc import Callable
from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.orchestration.state import Conduct

TEMPLATE: dict[str, Any] = {
    "heat_template_version": "2021-04-16",
    "description": "A test",
    "parameters": {
        "size": {"type": "number", "default": 1},
        "password": {"type": "string", "hidden": True, "default": ""},
    },
    "resources": {"thing": {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}},
}


def path(caller: Any, rest: str) -> str:
    return f"/orchestration/v1/{caller.token_body['project']['id']}{rest}"


def create(caller: Any, name: str = "s", **more: Any) -> Any:
    return caller.call("POST", path(caller, "/stacks"), {"stack_name": name, "template": TEMPLATE, **more})


def status(caller: Any, name: str = "s") -> Any:
    found = caller.ok("GET", path(caller, f"/stacks?name={name}"))["stacks"]
    return found[0]["stack_status"] if found else None


@pytest.fixture(autouse=True)
def quick(cloud: Cloud) -> None:
    cloud.orchestration.conduct = Conduct(seconds=0)


def test_the_sdk_makes_shows_and_deletes_a_stack(connect: Callable[[str], Any]) -> None:
    heat = connect("demo").orchestration
    made = heat.create_stack(name="s", template=TEMPLATE, parameters={"size": 3}, tags="a,b")
    shown = heat.get_stack("s")
    assert (shown.id, shown.status, shown.parameters["size"]) == (made.id, "CREATE_COMPLETE", "3")
    assert [each.name for each in heat.stacks()] == ["s"]
    assert [each.name for each in heat.resources(made.id)] == ["thing"]
    heat.delete_stack(made.id)
    assert not list(heat.stacks())


def test_parts_of_a_stack_are_found_by_its_name_alone(demo: Any) -> None:
    made = create(demo).body["stack"]["id"]
    for what in ("resources", "events", "template"):
        by_name = demo.ok("GET", path(demo, f"/stacks/s/{what}"))
        assert by_name == demo.ok("GET", path(demo, f"/stacks/s/{made}/{what}"))


def test_hidden_parameters_are_not_shown(demo: Any) -> None:
    made = create(demo, parameters={"password": "secret"}).body["stack"]["id"]
    shown = demo.ok("GET", path(demo, f"/stacks/s/{made}"))["stack"]
    assert shown["parameters"]["password"] == "******"
    assert shown["parameters"]["size"] == "1"


def test_a_name_is_taken_once_in_a_project(demo: Any, admin: Any) -> None:
    assert create(demo).status == 201
    refused = create(demo)
    assert (refused.status, refused.body["error"]["type"]) == (409, "StackExists")
    assert create(admin).status == 201


def test_the_projects_do_not_see_each_others_stacks(demo: Any, admin: Any) -> None:
    create(demo)
    assert admin.call("GET", path(demo, "/stacks")).status == 403
    assert admin.ok("GET", path(admin, "/stacks"))["stacks"] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"template": {"resources": {}}}, "version"),
        ({"template": {**TEMPLATE, "resources": {"x": {}}}}, "resources.x"),
        ({"parameters": {"nope": 1}}, "nope"),
        ({"template": {**TEMPLATE, "parameters": {"needed": {"type": "string"}}}}, "needed"),
        ({"template": None, "template_url": "https://example.com/t"}, "retrieve"),
    ],
)
def test_bad_stacks_are_refused(demo: Any, change: dict[str, Any], said: str) -> None:
    refused = create(demo, **change)
    assert refused.status == 400
    assert said in refused.body["error"]["message"]


def test_templates_are_validated(demo: Any) -> None:
    assert demo.ok("POST", path(demo, "/validate"), {"template": TEMPLATE})["Description"] == "A test"
    assert demo.call("POST", path(demo, "/validate"), {"template": {}}).status == 400


def test_stacks_fail_as_they_are_told(demo: Any, cloud: Cloud) -> None:
    cloud.orchestration.conduct = Conduct(seconds=0, create_fails="no quota", delete_fails="in use")
    create(demo)
    assert status(demo) == "CREATE_FAILED"
    demo.ok("DELETE", path(demo, "/stacks/s"))
    assert status(demo) == "DELETE_FAILED"
    assert demo.call("PUT", "/sandbox/stacks", {"delete_fails": "", "seconds": 30}).status == 200
    demo.ok("DELETE", path(demo, "/stacks/s"))
    assert status(demo) == "DELETE_IN_PROGRESS"
    assert demo.call("PUT", "/sandbox/stacks", {"seconds": "x"}).status == 400


def test_a_test_resource_fails_and_takes_its_time(demo: Any) -> None:
    failing = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
    create(demo, template={**TEMPLATE, "resources": {"bad": failing}})
    found = demo.ok("GET", path(demo, "/stacks"))["stacks"][0]
    assert (found["stack_status"], "resources.bad" in found["stack_status_reason"]) == ("CREATE_FAILED", True)
    slow = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 60}}
    create(demo, "slow", template={**TEMPLATE, "resources": {"slow": slow}})
    assert status(demo, "slow") == "CREATE_IN_PROGRESS"
