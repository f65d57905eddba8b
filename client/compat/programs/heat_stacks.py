"""A program that runs Heat's engine on stacks with OS::Blazar resources and prints the results as JSON.

The Python of Heat's environment runs it; KEYSTONE_URL names the cloud.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from datetime import UTC, datetime, timedelta

from heat.common import context, messaging
from heat.db import migration
from heat.engine import resources, stack, template
from keystoneauth1.identity import v3
from oslo_config import cfg

logging.disable(logging.CRITICAL)


def prepare() -> None:
    conf = cfg.CONF  # noqa: TID251 (Heat has no other)
    conf([], project="heat", default_config_files=[])
    conf.set_override("connection", f"sqlite:///{tempfile.mkdtemp()}/heat.db", "database")
    conf.set_override("region_name_for_services", "RegionOne")
    conf.set_override("deferred_auth_method", "password")
    migration.db_sync()
    resources.initialise()
    messaging.setup("fake://", optional=True)


def caller(user: str) -> context.RequestContext:
    url = os.environ["KEYSTONE_URL"]
    auth = v3.Password(
        url,
        username=user,
        password="sandbox",
        project_name=user,
        user_domain_id="default",
        project_domain_id="default",
    )
    return context.RequestContext(
        username=user, password="sandbox", auth_url=url, region_name="RegionOne", auth_plugin=auth,
        is_admin=False,
        roles=[], project_id="0" * 32, user_id="u", auth_token="t",
    )  # fmt: skip


def run(user: str, name: str, kind: str, properties: dict) -> dict:
    """Create a stack of one resource, read all its attributes, and delete it."""
    made = stack.Stack(
        caller(user),
        name,
        template.Template(
            {
                "heat_template_version": "queens",
                "resources": {"it": {"type": kind, "properties": properties}},
            }
        ),
    )
    made.store()
    made.create()
    resource = made["it"]
    results = {"created": made.state, "reason": made.status_reason, "attributes": {}}
    for attribute in resource.attributes_schema if resource.resource_id else ():
        try:
            results["attributes"][attribute] = resource.FnGetAtt(attribute)
        except Exception as error:  # noqa: BLE001 (what Heat cannot give is part of what is compared)
            results["attributes"][attribute] = f"{type(error).__name__}"
    made.delete()
    results["deleted"] = made.state
    return results


def later(hours: int) -> str:
    now = datetime.now(UTC)  # noqa: TID251 (a program of its own, on the real clock)
    return (now + timedelta(hours=hours)).strftime("%Y-%m-%d %H:%M")


def lease(reservation: dict, **more: str) -> dict:
    return {
        "name": "of-heat",
        "start_date": later(1),
        "end_date": later(3),
        "reservations": [reservation],
        "events": [],
        **more,
    }


HOST = {
    "resource_type": "physical:host",
    "hypervisor_properties": "",
    "resource_properties": "",
    "before_end": "default",
}

INSTANCES = {
    "resource_type": "virtual:instance",
    "amount": 2,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 5,
    "affinity": False,
    "resource_properties": "",
}

if __name__ == "__main__":
    prepare()
    stacks = {
        "lease": run("demo", "s1", "OS::Blazar::Lease", lease({**HOST, "min": 1, "max": 1})),
        "lease with before_end": run(
            "demo", "s2", "OS::Blazar::Lease", lease({**HOST, "min": 1, "max": 2}, before_end_date=later(2))
        ),
        "lease of instances": run("demo", "s6", "OS::Blazar::Lease", lease(INSTANCES)),
        "refused lease": run("demo", "s3", "OS::Blazar::Lease", lease({**HOST, "min": 99, "max": 99})),
        "host": run(
            "admin",
            "s4",
            "OS::Blazar::Host",
            {"name": "compute-07", "extra_capability": {"gpu": "True", "n": 3}},
        ),
        "unknown host": run("admin", "s5", "OS::Blazar::Host", {"name": "nowhere"}),
    }
    print(json.dumps(stacks, default=str))
