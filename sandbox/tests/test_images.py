"""Images change hands: administrators give them another owner, and owners share them."""

from typing import Any

import pytest

from blazar_sandbox.cloud import Cloud

IMAGES = "/image/v2/images"


def made(caller: Any, visibility: str = "shared") -> str:
    return str(caller.ok("POST", IMAGES, {"name": "mine", "visibility": visibility})["id"])


def patch(caller: Any, image: str, **changes: str) -> Any:
    steps = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in changes.items()]
    return caller.call("PATCH", f"{IMAGES}/{image}", steps)


def listed(caller: Any, query: str = "") -> list[str]:
    return [image["name"] for image in caller.ok("GET", f"{IMAGES}?{query}")["images"]]


def test_only_an_administrator_gives_an_image_another_owner(
    admin: Any, demo: Any, alt: Any, cloud: Cloud
) -> None:
    image, theirs = made(demo), cloud.project_id("alt")
    refused = patch(demo, image, owner=theirs)
    assert refused.status == 403
    assert "Owner can't be updated by non admin." in str(refused.body)
    assert patch(admin, image, owner=theirs).body["owner"] == theirs
    assert (listed(demo, "name=mine"), listed(alt, "name=mine")) == ([], ["mine"])
    assert demo.call("GET", f"{IMAGES}/{image}").status == 404


def test_a_member_sees_it_by_its_id_and_in_lists_once_it_is_accepted(
    demo: Any, alt: Any, cloud: Cloud
) -> None:
    image, theirs = made(demo), cloud.project_id("alt")
    members = f"{IMAGES}/{image}/members"
    assert alt.call("GET", f"{IMAGES}/{image}").status == 404
    assert demo.ok("POST", members, {"member": theirs})["status"] == "pending"
    assert demo.call("POST", members, {"member": theirs}).status == 409
    assert alt.ok("GET", f"{IMAGES}/{image}")["name"] == "mine"
    everything = "visibility=shared&member_status=all"
    assert ("mine" in listed(alt), listed(alt, everything)) == (False, ["mine"])
    assert listed(alt, "visibility=shared&member_status=rejected") == []
    assert alt.ok("PUT", f"{members}/{theirs}", {"status": "accepted"})["status"] == "accepted"
    assert "mine" in listed(alt)
    assert [one["member_id"] for one in alt.ok("GET", members)["members"]] == [theirs]
    assert patch(alt, image, name="yours").status == 403
    assert alt.call("DELETE", f"{IMAGES}/{image}").status == 403


def test_members_are_their_owners_and_their_own(demo: Any, alt: Any, cloud: Cloud) -> None:
    image, theirs = made(demo), cloud.project_id("alt")
    members = f"{IMAGES}/{image}/members"
    demo.ok("POST", members, {"member": theirs})
    assert alt.call("POST", members, {"member": cloud.project_id("admin")}).status == 403
    assert demo.call("PUT", f"{members}/{theirs}", {"status": "accepted"}).status == 403
    assert alt.call("PUT", f"{members}/{theirs}", {"status": "perhaps"}).status == 400
    assert alt.call("DELETE", f"{members}/{theirs}").status == 403
    assert alt.call("GET", f"{members}/{cloud.project_id('admin')}").status == 404
    assert demo.ok("GET", f"{members}/{theirs}")["status"] == "pending"
    demo.ok("DELETE", f"{members}/{theirs}")
    assert demo.ok("GET", members)["members"] == []
    assert alt.call("GET", members).status == 404


@pytest.mark.parametrize("visibility", ["private", "community"])
def test_only_shared_images_have_members(demo: Any, cloud: Cloud, visibility: str) -> None:
    image = made(demo, visibility)
    refused = demo.call("POST", f"{IMAGES}/{image}/members", {"member": cloud.project_id("alt")})
    assert refused.status == 403
    assert "Only shared images have members." in str(refused.body)


def test_a_member_status_that_is_none(demo: Any) -> None:
    assert demo.call("GET", f"{IMAGES}?member_status=perhaps").status == 400


def test_an_image_that_an_administrator_makes_of_a_server_is_shared_with_its_project(
    admin: Any, demo: Any, cloud: Cloud
) -> None:
    server = demo.boot(cloud)["id"]
    body = {"createImage": {"name": "mine", "metadata": {}}}
    image = admin.nova("POST", f"/servers/{server}/action", body)["image_id"]
    assert admin.ok("GET", f"{IMAGES}/{image}")["owner"] == cloud.project_id("admin")
    assert listed(demo, "name=mine") == []
    assert demo.ok("GET", f"{IMAGES}/{image}")["visibility"] == "shared"
