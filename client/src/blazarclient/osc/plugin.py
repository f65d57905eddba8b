"""The plugin interface of the `openstack` command: the client and the global options."""

from __future__ import annotations

import argparse
import logging
import os
from typing import Any

from blazarclient import client

LOG = logging.getLogger(__name__)

DEFAULT_API_VERSION = "1"
API_VERSION_OPTION = "os_reservation_api_version"
API_NAME = "reservation"
API_VERSIONS = {"1": "blazarclient.v1.client.Client"}


def make_client(instance: Any) -> Any:
    """Return the client for the selected cloud; `instance` is the client manager of the command."""
    version = instance._api_version[API_NAME]
    LOG.debug("reservation client of version %s", version)
    return client.Client(
        DEFAULT_API_VERSION if version not in API_VERSIONS else version,
        session=instance.session,
        interface=instance.interface,
        region_name=instance.region_name,
        endpoint_override=instance.get_configuration().get("reservation_endpoint_override"),
    )


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the global options of this plugin."""
    parser.add_argument(
        "--os-reservation-api-version",
        metavar="<reservation-api-version>",
        choices=sorted(API_VERSIONS),
        default=os.environ.get("OS_RESERVATION_API_VERSION", DEFAULT_API_VERSION),
        help="Reservation API version, 1 is the only one (Env: OS_RESERVATION_API_VERSION)",
    )
    return parser
