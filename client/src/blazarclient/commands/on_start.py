"""The options for what is started with a lease: a stack of Heat, or a webhook."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

from blazarclient.parsing.durations import parse_duration
from blazarclient.parsing.errors import InvalidInput
from blazarclient.v1.on_start import stack, webhook

MINUTE = timedelta(minutes=1)
ADDRESSES = ("https://", "http://")
OF_STACK = ("on_start_parameter", "on_start_environment", "on_start_timeout")


def add_on_start_options(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--on-start-stack",
        metavar="<file>",
        help="Have Heat make a stack from this template, which is a file or an address that Heat reads, when "
        "all that is reserved is ready, and delete it before the end",
    )
    what.add_argument(
        "--on-start-webhook",
        metavar="<url>",
        help="Tell this address when the lease starts and ends. The secret of the messages is shown once",
    )
    parser.add_argument(
        "--on-start-parameter",
        metavar="<key=value>",
        action="append",
        default=[],
        help="A parameter of the template. {reservations.0.flavor_id}, {lease.id} and the like stand for "
        "fields of the lease and its reservations. Specify option multiple times to set multiple parameters",
    )
    parser.add_argument("--on-start-environment", metavar="<file>", type=Path, help="Heat's environment")
    parser.add_argument(
        "--on-start-timeout", metavar="<duration>", help="How long Heat may take to make the stack, like 30m"
    )


def parse_on_start(
    parsed_args: argparse.Namespace, of_file: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return what is started with a lease, by the options or else by the file; None where nothing is. Raises
    InvalidInput."""
    source, url = parsed_args.on_start_stack, parsed_args.on_start_webhook
    given = [option for option in OF_STACK if getattr(parsed_args, option)]
    if source is None and given:
        raise InvalidInput(f"--{given[0].replace('_', '-')} is for --on-start-stack")
    if url is not None:
        return webhook(url)
    if source is None:
        return None if of_file is None else dict(of_file)
    is_address = source.startswith(ADDRESSES)
    environment, timeout = parsed_args.on_start_environment, parsed_args.on_start_timeout
    return stack(
        None if is_address else read_mapping(Path(source)),
        template_url=source if is_address else None,
        parameters=dict(map(_parameter, parsed_args.on_start_parameter)) or None,
        environment=None if environment is None else read_mapping(environment),
        timeout_minutes=None if timeout is None else _minutes(timeout),
    )


def read_yaml(path: Path) -> Any:
    """Return what is in a YAML or JSON file. Raises InvalidInput with the path and, if known, the line."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not YAML: {error}") from error


def read_mapping(path: Path) -> dict[str, Any]:
    """Return the keys and values of a YAML or JSON file. Raises InvalidInput."""
    found = read_yaml(path)
    if not isinstance(found, dict):
        raise InvalidInput(f"{path}: keys and values are expected")
    plain: dict[str, Any] = without_dates(found)
    return plain


def without_dates(value: Any) -> Any:
    """Return the value as JSON has it: YAML takes the version of a template for a date."""
    if isinstance(value, dict):
        return {str(name): without_dates(each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_dates(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _parameter(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise InvalidInput(f"--on-start-parameter '{text}' is not key=value")
    return name, value


def _minutes(text: str) -> int:
    duration = parse_duration(text)
    if duration < MINUTE or duration % MINUTE:
        raise InvalidInput(f"--on-start-timeout counts in minutes, and '{text}' is not a number of them")
    return duration // MINUTE
