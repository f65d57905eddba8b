"""The use cases of a manager elsewhere, over the broker."""

from __future__ import annotations

from oslo_config import cfg

from blazar.adapters.clock import SystemClock
from blazar.broker import rpc_transport
from blazar.plugins import load_plugins
from blazar.rpc.codec import Codec
from blazar.rpc.messaging import MessagingTransport
from blazar.rpc.proxy import remote_service
from blazar.service.interface import Service
from blazar.service.tracing import NO_TRACING, Tracing


def build_remote_service(conf: cfg.ConfigOpts, tracing: Tracing = NO_TRACING) -> Service:
    """All use cases, carried out by a manager over the broker."""
    transport = rpc_transport(conf)
    carrier = MessagingTransport(conf, transport, SystemClock(), conf.manager.rpc_topic, tracing)
    return remote_service(carrier, Codec(load_plugins(conf).interfaces))
