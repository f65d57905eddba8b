"""The cloud of a program."""

from __future__ import annotations

from collections.abc import Sequence

from keystoneauth1 import loading
from keystoneauth1.session import Session
from oslo_config import cfg

from blazar.adapters.openstack.cloud import connect
from blazar.adapters.openstack.session import pooled_http
from blazar.bootstrap.settings import engine_settings
from blazar.conf import former
from blazar.service.metrics import NO_METRICS, Metrics
from blazar.service.ports import Cloud
from blazar.service.tracing import NO_TRACING, Tracing

LONGEST_REGION = 20
"""Characters of a region's name: the database has room for so many beside a calendar's name."""


def build_cloud(conf: cfg.ConfigOpts, metrics: Metrics = NO_METRICS, tracing: Tracing = NO_TRACING) -> Cloud:
    former.adopt(conf)
    auth = loading.load_auth_from_conf_options(conf, "cloud")
    http = pooled_http(engine_settings(conf).threads + conf.manager.cloud_calls_at_once + conf.api.threads)
    settings = conf.cloud
    session = Session(
        auth=auth,
        session=http,
        verify=False if settings.insecure else settings.cafile or True,
        cert=(settings.certfile, settings.keyfile) if settings.keyfile else settings.certfile,
        timeout=settings.timeout or 60,
        user_agent="blazar",
    )
    return connect(
        session,
        settings.region_name,
        settings.interface,
        metrics,
        settings.calls_at_once,
        tracing,
        more_regions(conf),
    )


def more_regions(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the names of the regions beside the first. Raises ValueError where they cannot be used."""
    first, more = conf.cloud.region_name, conf.cloud.more_regions
    if more and not first:
        raise ValueError("[cloud] more_regions: name the first region, too, with region_name")
    if len({first, *more}) <= len(more):
        raise ValueError("[cloud] more_regions: each region is named once")
    for name in more:
        if not 0 < len(name) <= LONGEST_REGION:
            raise ValueError(f"[cloud] more_regions: {name} has more than {LONGEST_REGION} characters")
    return tuple(more)
