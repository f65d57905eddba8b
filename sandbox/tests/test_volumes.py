"""Tests of Cinder: volume types, quotas and volumes, through the SDK and bare calls."""

from collections.abc import Callable
from typing import Any

import openstack
import pytest

from blazar_sandbox.cloud import Cloud


def create(caller: Any, size: int = 1, volume_type: str | None = "fast") -> Any:
    return caller.call("POST", "/volume/v3/volumes", {"volume": {"size": size, "volume_type": volume_type}})


def raise_quota(admin: Any, project_id: str, **limits: int) -> Any:
    return admin.call("PUT", f"/volume/v3/os-quota-sets/{project_id}", {"quota_set": limits})


@pytest.fixture
def project(demo: Any) -> str:
    return str(demo.token_body["project"]["id"])


def test_the_sdk_makes_volumes_within_the_quota(connect: Callable[[str], Any], project: str) -> None:
    storage, operators = connect("demo").block_storage, connect("admin").block_storage
    assert [each.name for each in storage.types()] == ["standard", "fast"]
    with pytest.raises(openstack.exceptions.HttpException, match="quota"):
        storage.create_volume(size=5, volume_type="fast")
    operators.update_quota_set(project, gigabytes_fast=10, volumes_fast=2)
    made = storage.create_volume(name="data", size=5, volume_type="fast")
    assert storage.wait_for_status(made).status == "available"
    assert [(each.name, each.size, each.volume_type) for each in storage.volumes()] == [("data", 5, "fast")]
    used = operators.get_quota_set(project, usage=True)
    assert used.usage["gigabytes_fast"] == 5
    storage.delete_volume(made)
    assert not list(storage.volumes())


def test_each_limit_holds(admin: Any, demo: Any, project: str) -> None:
    raise_quota(admin, project, gigabytes_fast=10, volumes_fast=2)
    assert (
        create(demo, 11)
        .body["overLimit"]["message"]
        .endswith(
            "exceeds allowed gigabytes_fast quota. Requested 11G, quota is 10G and 0G has been consumed."
        )
    )
    assert [create(demo, 4).status for _ in range(3)] == [202, 202, 413]
    assert "'volumes_fast'" in create(demo, 1).body["overLimit"]["message"]
    raise_quota(admin, project, gigabytes=8)
    assert "gigabytes quota" in create(demo, 1, None).body["overLimit"]["message"]
    raise_quota(admin, project, gigabytes=-1)
    assert create(demo, 5000, None).status == 202


def test_a_quota_is_lowered_to_no_less_than_is_used(admin: Any, demo: Any, project: str) -> None:
    path = f"/volume/v3/os-quota-sets/{project}"
    raise_quota(admin, project, gigabytes_fast=10, volumes_fast=2)
    create(demo, 4)
    refused = admin.call("PUT", path, {"quota_set": {"volumes_fast": 1, "gigabytes_fast": 3}})
    assert refused.status == 400
    assert refused.body["badRequest"]["message"] == (
        "Quota gigabytes_fast limit must be equal or greater than existing resources. Current usage is 4 and "
        "the requested limit is 3."
    )
    told = admin.ok("GET", path)["quota_set"]
    assert (told["gigabytes_fast"], told["volumes_fast"]) == (10, 2)
    raise_quota(admin, project, gigabytes_fast=4)
    assert create(demo, 1).status == 413


def test_the_first_limit_of_a_project_may_be_less_than_it_uses(admin: Any, demo: Any, project: str) -> None:
    raise_quota(admin, project, gigabytes_fast=-1, volumes_fast=-1)
    create(demo, 4)
    raise_quota(admin, project, gigabytes=3)
    assert create(demo, 1).status == 413


def test_limits_of_their_own_go_before_the_defaults(admin: Any, demo: Any, project: str) -> None:
    path = f"/volume/v3/os-quota-sets/{project}"
    raise_quota(admin, project, gigabytes_fast=7)
    admin.ok(
        "PUT",
        "/volume/v3/os-quota-class-sets/default",
        {"quota_class_set": {"gigabytes_fast": 3, "volumes": 4}},
    )
    told = demo.ok("GET", path)["quota_set"]
    assert (told["id"], told["gigabytes_fast"], told["volumes"]) == (project, 7, 4)
    assert demo.ok("GET", f"{path}/defaults")["quota_set"]["gigabytes_fast"] == 3
    admin.ok("DELETE", path)
    assert demo.ok("GET", path)["quota_set"]["gigabytes_fast"] == 3


def test_what_is_no_limit_is_refused(admin: Any, demo: Any, project: str) -> None:
    refused = raise_quota(admin, project, gigabytes_slow=1)
    assert (refused.status, refused.body["badRequest"]["message"]) == (
        400,
        "Bad key(s) in quota set: gigabytes_slow",
    )
    assert raise_quota(admin, project, gigabytes_fast=-2).status == 400
    assert raise_quota(demo, project, gigabytes_fast=5).status == 403
    assert demo.call("GET", "/volume/v3/os-quota-sets/another").status == 403


def test_quotas_follow_the_name_of_a_type(admin: Any, demo: Any, project: str) -> None:
    made = admin.ok("POST", "/volume/v3/types", {"volume_type": {"name": "slow"}})["volume_type"]
    raise_quota(admin, project, gigabytes_slow=5)
    assert admin.call("POST", "/volume/v3/types", {"volume_type": {"name": "slow"}}).status == 409
    admin.ok("PUT", f"/volume/v3/types/{made['id']}", {"volume_type": {"name": "slower"}})
    told = demo.ok("GET", f"/volume/v3/os-quota-sets/{project}")["quota_set"]
    assert told["gigabytes_slower"] == 5
    assert "gigabytes_slow" not in told
    volume = create(demo, 5, "slower").body["volume"]
    assert admin.call("DELETE", f"/volume/v3/types/{made['id']}").status == 400
    assert demo.call("DELETE", f"/volume/v3/volumes/{volume['id']}").status == 202
    assert admin.call("DELETE", f"/volume/v3/types/{made['id']}").status == 202
    assert demo.call("GET", f"/volume/v3/types/{made['id']}").status == 404


def test_a_private_type_is_for_administrators(admin: Any, demo: Any) -> None:
    body = {"volume_type": {"name": "hidden", "os-volume-type-access:is_public": False}}
    made = admin.ok("POST", "/volume/v3/types", body)["volume_type"]
    assert demo.call("GET", f"/volume/v3/types/{made['id']}").status == 404
    assert create(demo, 1, "hidden").status == 404

    def listed(caller: Any, query: str = "") -> list[str]:
        return [each["name"] for each in caller.ok("GET", f"/volume/v3/types{query}")["volume_types"]]

    assert listed(demo, "?is_public=None") == listed(admin) == ["standard", "fast"]
    assert listed(admin, "?is_public=None") == ["standard", "fast", "hidden"]
    assert listed(admin, "?is_public=false") == ["hidden"]


def test_volumes_are_their_project_s(admin: Any, demo: Any, alt: Any, project: str) -> None:
    volume = create(demo, 1, None).body["volume"]
    path = f"/volume/v3/volumes/{volume['id']}"
    assert alt.call("GET", path).status == 404
    assert alt.call("DELETE", path).status == 404
    assert alt.ok("GET", "/volume/v3/volumes")["volumes"] == []
    everyone = admin.ok("GET", f"/volume/v3/{project}/volumes/detail?all_tenants=1")["volumes"]
    assert [each["os-vol-tenant-attr:tenant_id"] for each in everyone] == [project]
    assert demo.ok("PUT", path, {"volume": {"name": "new"}})["volume"]["name"] == "new"
    assert demo.ok("GET", "/volume/v3/limits")["limits"]["absolute"]["totalGigabytesUsed"] == 1


def test_a_volume_in_use_is_not_deleted(admin: Any, demo: Any, cloud: Cloud) -> None:
    path = f"/volume/v3/volumes/{create(demo, 1, None).body['volume']['id']}"
    with cloud.lock:
        cloud.volumes.change(next(iter(cloud.volumes.table)), status="in-use")
    assert demo.ok("GET", path)["volume"]["status"] == "in-use"
    for caller in (demo, admin):
        refused = caller.call("DELETE", path)
        assert (refused.status, "in-use" in refused.body["badRequest"]["message"]) == (400, True)


def test_the_catalog_has_it_under_both_types(demo: Any) -> None:
    types = {each["type"] for each in demo.token_body["catalog"]}
    assert {"block-storage", "volumev3"} <= types
    assert demo.call("GET", "/volume/v3").body["versions"][0]["min_version"] == "3.0"


def test_a_volume_is_made_from_an_image_or_a_snapshot(demo: Any, alt: Any, cloud: Cloud) -> None:
    image = next(row.id for row in cloud.images.table if row.name == "dummy")
    source = create(demo, 3, None).body["volume"]["id"]
    body = {"snapshot": {"volume_id": source, "name": "kept", "metadata": {"a": "b"}}}
    snapshot = demo.ok("POST", "/volume/v3/snapshots", body)["snapshot"]
    assert (snapshot["size"], snapshot["metadata"], snapshot["status"]) == (3, {"a": "b"}, "available")

    def made(caller: Any = demo, size: int = 3, **fields: str) -> Any:
        return caller.call("POST", "/volume/v3/volumes", {"volume": {"size": size, **fields}})

    assert made(imageRef=image).body["volume"]["bootable"] == "true"
    assert made(snapshot_id=snapshot["id"]).body["volume"]["snapshot_id"] == snapshot["id"]
    too_small = made(size=2, snapshot_id=snapshot["id"])
    assert (too_small.status, "cannot be smaller" in too_small.body["badRequest"]["message"]) == (400, True)
    assert made(imageRef="nope").status == 400
    assert made(snapshot_id="nope").status == 404
    assert made(alt, snapshot_id=snapshot["id"]).status == 404


def test_volumes_are_found_by_their_metadata(demo: Any) -> None:
    for mark in ("1", "2"):
        body = {"volume": {"size": 1, "name": mark, "metadata": {"mark": mark, "other": "x"}}}
        made = demo.ok("POST", "/volume/v3/volumes", body)["volume"]

    def names(query: str) -> list[str]:
        return [each["name"] for each in demo.ok("GET", f"/volume/v3/volumes/detail?{query}")["volumes"]]

    assert names("metadata={'mark': '1'}") == names('metadata={"mark":"1","other":"x"}') == ["1"]
    assert demo.call("GET", "/volume/v3/volumes?metadata=1").status == 400
    path = f"/volume/v3/volumes/{made['id']}/metadata"
    assert demo.ok("POST", path, {"metadata": {"more": "y"}})["metadata"] == {
        "mark": "2",
        "other": "x",
        "more": "y",
    }
    assert demo.call("DELETE", f"{path}/mark").status == 200
    assert demo.call("DELETE", f"{path}/mark").status == 404
    assert names("metadata={'mark': '2'}") == []


def test_snapshots_are_counted_and_keep_their_volume(admin: Any, demo: Any, alt: Any, project: str) -> None:
    raise_quota(admin, project, gigabytes_fast=8, volumes_fast=2)
    volume = create(demo, 4).body["volume"]["id"]
    body = {"snapshot": {"volume_id": volume}}
    snapshot = demo.ok("POST", "/volume/v3/snapshots", body)["snapshot"]["id"]
    refused = demo.call("POST", "/volume/v3/snapshots", body)
    assert (refused.status, "gigabytes_fast" in refused.body["overLimit"]["message"]) == (413, True)
    assert create(demo, 1).status == 413
    kept = demo.call("DELETE", f"/volume/v3/volumes/{volume}")
    assert (kept.status, "have snapshots" in kept.body["badRequest"]["message"]) == (400, True)
    listed = demo.ok("GET", f"/volume/v3/snapshots/detail?volume_id={volume}")["snapshots"]
    assert [each["id"] for each in listed] == [snapshot]
    assert alt.ok("GET", "/volume/v3/snapshots")["snapshots"] == []
    assert alt.call("DELETE", f"/volume/v3/snapshots/{snapshot}").status == 404
    assert len(admin.ok("GET", f"/volume/v3/snapshots?all_tenants=1&project_id={project}")["snapshots"]) == 1
    assert demo.call("DELETE", f"/volume/v3/snapshots/{snapshot}").status == 202
    assert demo.call("GET", f"/volume/v3/snapshots/{snapshot}").status == 404
    assert demo.call("DELETE", f"/volume/v3/volumes/{volume}").status == 202


def test_a_volume_is_made_larger_within_the_quota(admin: Any, demo: Any, project: str) -> None:
    raise_quota(admin, project, gigabytes_fast=8, volumes_fast=2)
    path = f"/volume/v3/volumes/{create(demo, 4).body['volume']['id']}"
    statuses = [demo.call("POST", f"{path}/action", {"os-extend": {"new_size": n}}).status for n in (8, 9, 8)]
    assert statuses == [202, 413, 400]
    assert demo.ok("GET", path)["volume"]["size"] == 8


def test_what_has_failed_is_told(admin: Any, demo: Any, alt: Any, cloud: Cloud) -> None:
    with cloud.lock:
        cloud.volumes.create_fails = "Could not find any available weighted backend."
    failed = create(demo, 1, None).body["volume"]
    path = f"/volume/v3/messages?resource_uuid={failed['id']}"
    told = demo.call("GET", path, version="3.5").body["messages"]
    assert [each["user_message"] for each in told] == ["Could not find any available weighted backend."]
    assert alt.call("GET", path, version="3.5").body["messages"] == []
    assert demo.call("GET", path).status == 404
    assert demo.ok("GET", f"/volume/v3/volumes/{failed['id']}")["volume"]["status"] == "error"


def test_servers_have_volumes(connect: Callable[[str], Any], demo: Any, alt: Any, cloud: Cloud) -> None:
    sdk = connect("demo")
    flavor, image = sdk.compute.find_flavor("m1.tiny"), sdk.image.find_image("dummy")
    server = sdk.compute.wait_for_server(
        sdk.compute.create_server(name="web", flavor_id=flavor.id, image_id=image.id, networks="none")
    )
    volume = create(demo, 1, None).body["volume"]["id"]
    attached = sdk.compute.create_volume_attachment(server, volume_id=volume)
    assert attached.volume_id == volume
    assert [each.volume_id for each in sdk.compute.volume_attachments(server)] == [volume]
    assert sdk.compute.get_volume_attachment(server, volume).volume_id == volume
    shown = demo.ok("GET", f"/volume/v3/volumes/{volume}")["volume"]
    assert (shown["status"], [each["server_id"] for each in shown["attachments"]]) == ("in-use", [server.id])
    assert sdk.compute.get_server(server.id).attached_volumes[0]["id"] == volume

    path = f"/compute/v2.1/servers/{server.id}/os-volume_attachments"
    body = {"volumeAttachment": {"volumeId": volume}}
    assert demo.call("POST", path, body).status == 400
    assert alt.call("POST", path, body).status == 404
    snapshot = {"snapshot": {"volume_id": volume}}
    assert demo.call("POST", "/volume/v3/snapshots", snapshot).status == 400
    snapshot["snapshot"]["force"] = True
    assert demo.call("POST", "/volume/v3/snapshots", snapshot).status == 202

    assert demo.call("DELETE", f"{path}/{volume}").status == 202
    assert demo.call("DELETE", f"{path}/{volume}").status == 404
    assert demo.ok("GET", f"/volume/v3/volumes/{volume}")["volume"]["status"] == "available"
    demo.ok("POST", path, body)
    sdk.compute.delete_server(server)
    sdk.compute.wait_for_delete(server)
    assert demo.ok("GET", f"/volume/v3/volumes/{volume}")["volume"]["attachments"] == []
