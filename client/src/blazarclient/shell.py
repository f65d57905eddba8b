"""The standalone `blazar` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from cliff import app, commandmanager
from keystoneauth1 import exceptions as ksa_exceptions
from openstack import config
from openstack import exceptions as sdk_exceptions

import blazarclient
from blazarclient import client, exception
from blazarclient.clock import Clock, SystemClock
from blazarclient.commands.advice import describe_error
from blazarclient.commands.base import FAILED, INTERRUPTED
from blazarclient.commands.complete import Complete

DESCRIPTION = "Command-line interface to the Blazar APIs"
COMMAND_NAMESPACE = "blazarclient.commands"


class ClientManager:
    """Holds the client of the commands. It is made on first use, so help and completion need no cloud."""

    def __init__(self, cloud_config: config.OpenStackConfig, options: argparse.Namespace) -> None:
        self._config = cloud_config
        self._options = options
        self._client: Any = None

    @property
    def reservation(self) -> Any:
        if self._client is None:
            self._client = self._make_client()
        return self._client

    def _make_client(self) -> Any:
        options = self._options
        cloud = self._config.get_one(argparse=options)
        service_type = options.service_type or options.os_service_type or "reservation"
        return client.Client(
            options.os_reservation_api_version,
            service_type=service_type,
            session=cloud.get_session(),
            interface=options.endpoint_type or options.os_interface or cloud.config.get("interface"),
            region_name=options.os_region_name or cloud.config.get("region_name"),
            service_name=options.os_service_name or None,
            endpoint_override=options.os_endpoint_override
            or cloud.config.get("reservation_endpoint_override"),
        )


class BlazarShell(app.App):
    """The `blazar` command."""

    def __init__(
        self,
        stdin: TextIO | None = None,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self._config = config.OpenStackConfig(app_name="blazar", app_version=blazarclient.__version__)
        super().__init__(
            description=DESCRIPTION,
            version=blazarclient.__version__,
            command_manager=commandmanager.CommandManager(COMMAND_NAMESPACE),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            deferred_help=True,
        )
        self.command_manager.add_command("complete", Complete)

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: dict[str, Any] | None = None
    ) -> argparse.ArgumentParser:
        # openstacksdk has a hidden --endpoint-type too; the one below, which has a help text, replaces it.
        resolve = {**(argparse_kwargs or {}), "conflict_handler": "resolve"}
        parser = super().build_option_parser(description, version, resolve)
        parser.add_argument("--version", action="version", version=version or "", help="Show the version")
        self._config.register_argparse_arguments(parser, sys.argv[1:])
        parser.add_argument(
            "--os-reservation-api-version",
            default=os.environ.get("OS_RESERVATION_API_VERSION", "1"),
            help="Accepts 1 now, defaults to 1.",
        )
        parser.add_argument(
            "--service-type",
            metavar="<service-type>",
            default=os.environ.get("BLAZAR_SERVICE_TYPE"),
            help="(deprecated) Use --os-service-type instead. Defaults to env[BLAZAR_SERVICE_TYPE].",
        )
        parser.add_argument(
            "--endpoint-type",
            metavar="<endpoint-type>",
            default=os.environ.get("OS_ENDPOINT_TYPE"),
            help="(deprecated) Use --os-interface instead. Defaults to env[OS_ENDPOINT_TYPE].",
        )
        return parser

    def initialize_app(self, argv: list[str]) -> None:
        self.client_manager = ClientManager(self._config, self.options)

    def run(self, argv: list[str]) -> int:
        if argv or self.stdin.isatty():
            return super().run(argv)
        super().run(["help"])
        return 2


def main(argv: Sequence[str] | None = None, shell: BlazarShell | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        return (shell or BlazarShell()).run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except (
        exception.BlazarClientException,
        ksa_exceptions.ClientException,
        sdk_exceptions.SDKException,
    ) as error:
        (shell.stderr if shell else sys.stderr).write(describe_error(error) + "\n")
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
