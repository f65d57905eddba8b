"""The traces of a program."""

from __future__ import annotations

from importlib.util import find_spec

from oslo_config import cfg

from blazar.service.tracing import NO_TRACING, Tracing

OPEN_TELEMETRY = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
"""What the extra ``trace`` installs."""


def build_tracing(conf: cfg.ConfigOpts, program: str) -> Tracing:
    """Return the traces of a program that runs already: the sender's thread would not survive a fork."""
    if not conf.tracing.endpoint:
        return NO_TRACING
    require_tracing(conf)
    from blazar.adapters.tracing import sent_to

    return sent_to(conf.tracing.endpoint, program, conf.tracing.ratio)


def require_tracing(conf: cfg.ConfigOpts) -> None:
    """Raise LookupError where traces are wanted, and their libraries are not installed."""
    if conf.tracing.endpoint and not all(map(_is_installed, OPEN_TELEMETRY)):
        raise LookupError(
            "[tracing] endpoint needs libraries that are not installed. The extra blazar[trace] has them."
        )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False
