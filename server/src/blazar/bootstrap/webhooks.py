"""blazar-webhooks, and the same work in a manager: what was committed is compared with the subscriptions, and
sent."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from datetime import timedelta
from importlib import metadata

from oslo_config import cfg

from blazar.adapters.webhooks import HttpSender
from blazar.bootstrap.mail import mail_plan
from blazar.bootstrap.settings import webhook_settings
from blazar.engine.background import Background
from blazar.engine.presence import Announcing
from blazar.engine.webhooks import LEFT, Webhooks
from blazar.service.health import HealthUseCases, ThreadHealth
from blazar.service.metrics import Metrics
from blazar.service.ports import Clock, Database

NAME = "blazar-webhooks"
VERSION = metadata.version("blazar")


def build_webhooks(conf: cfg.ConfigOpts, database: Database, clock: Clock, metrics: Metrics) -> Webhooks:
    """Return what compares and sends."""
    own = conf.subscriptions
    return Webhooks(
        database,
        HttpSender(webhook_settings(conf)),
        clock,
        timedelta(hours=own.give_up_hours),
        metrics,
        mail=mail_plan(conf),
        left=LEFT if own.deliver_in_manager else timedelta(0),
    )


class WebhooksProgram:
    """All of blazar-webhooks but its port."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, clock: Clock, metrics: Metrics) -> None:
        self._webhooks = build_webhooks(conf, database, clock, metrics)
        self._threads: Sequence[Background] = (
            self._webhooks,
            Announcing(database, clock, NAME, socket.gethostname(), VERSION),
        )
        self.health = HealthUseCases(database, clock, self._thread_health)

    def _thread_health(self) -> list[ThreadHealth]:
        return [each.health() for each in self._threads]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        """Let the messages under way be settled; what is left is sent by another program."""
        for each in reversed(self._threads):
            each.stop()
        self._webhooks.finish()
