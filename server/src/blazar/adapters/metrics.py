"""Metrics for Prometheus: counts of what the service reports through the port ``Metrics``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from importlib import metadata
from typing import Literal

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from blazar.service.health import ManagerHealth, ThreadHealth, ThreadState

SHORT = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0)
LONG = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
VERSION = metadata.version("blazar")
MULTIPROCESS = "PROMETHEUS_MULTIPROC_DIR"
"""Where this names a folder, all processes that share it are counted together, as prometheus_client does
it."""


class PrometheusMetrics:
    """The Metrics that Prometheus reads. There is one in each process, for a process has one set of
    metrics."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry = registry or CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(name, what, labels, namespace="blazar", registry=registry)

        def seconds(name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(name, what, labels, namespace="blazar", registry=registry, buckets=buckets)

        def gauge(
            name: str, what: str, many: Literal["livesum", "livemax"] = "livemax", *labels: str
        ) -> Gauge:
            return Gauge(name, what, labels, namespace="blazar", registry=registry, multiprocess_mode=many)

        self._requests = counter("requests", "Requests that the API answered", "method", "route", "status")
        self._request_seconds = seconds("request_seconds", "How long requests took", LONG, "method", "route")
        self._use_cases = counter(
            "use_cases", "Calls that a manager carried out, by error or ok", "use_case", "code"
        )
        self._use_case_seconds = seconds(
            "use_case_seconds", "How long a manager took for a call", LONG, "use_case"
        )
        self._plan_seconds = seconds("plan_seconds", "How long planning took", SHORT)
        self._shortages = counter("shortages", "Requests for which there was not enough, by reason", "reason")
        self._conflicts = counter(
            "generation_conflicts", "Plans made in vain, for another request was faster"
        )
        self._retries = counter("transaction_retries", "Transactions repeated after a deadlock or the like")
        self._quota_refusals = counter(
            "quota_refusals", "Changes of leases refused, for a limit of the project is reached", "limit"
        )
        self._events = counter("events", "Events worked on, by outcome", "event_type", "outcome")
        self._event_late = seconds(
            "event_late_seconds", "How late the work on an event began", LONG, "event_type"
        )
        self._event_seconds = seconds(
            "event_seconds", "How long the work on an event took", LONG, "event_type"
        )
        self._claims = gauge("claims", "Events that this manager is working on", "livesum")
        self._claims_lost = counter("claims_lost", "Events that another manager took over")
        self._delivered = counter("notifications_delivered", "Notifications that left the outbox")
        self._hosts_failed = gauge("hosts_failed", "Registered hosts that Nova says are down or disabled")
        self._hosts_unknown = gauge("hosts_unknown", "Registered hosts that Nova does not list")
        self._held_back = gauge("healing_held_back", "Whether too many hosts fail at once to be healed")
        self._moved = counter("reservations_healed", "Reservations that got other resources for failed ones")
        self._missed = counter("reservations_missed", "Reservations that lost resources without replacement")
        self._differences = gauge(
            "differences", "Differences between database and cloud at the last comparison", "livemax", "sort"
        )
        self._compared = gauge("differences_compared_timestamp_seconds", "When the last comparison ended")
        self._sorts: set[str] = set()
        self._cloud = counter(
            "cloud_calls", "Calls to the cloud, by status or failed", "service", "method", "outcome"
        )
        self._cloud_seconds = seconds(
            "cloud_call_seconds", "How long calls to the cloud took", LONG, "service", "method"
        )

        self._asked = counter(
            "usage_filter_calls", "Questions and reports to usage filters", "filter", "call", "outcome"
        )
        self._asked_seconds = seconds(
            "usage_filter_call_seconds", "How long usage filters took", LONG, "filter", "call"
        )
        self._reports = gauge("usage_reports", "Reports to usage filters that wait to be delivered")
        self._displaced = counter(
            "leases_displaced", "Leases that gave way to leases of higher priorities", "effect"
        )
        self._room = counter("room_made", "Leases that were accepted because others were planned elsewhere")
        self._replanned = counter("leases_replanned", "Leases that were planned elsewhere to make room")
        self._released = counter("unused_leases_released", "Leases that were released, for they were unused")
        self._waiting = gauge("waiting_leases", "Leases that wait in line for resources")
        self._waiting_longest = gauge("waiting_longest_seconds", "How long the oldest of them has waited")
        self._webhooks = counter("webhooks", "Attempts to send messages to subscribers", "outcome")
        self._webhook_seconds = seconds("webhook_seconds", "How long such attempts took", LONG)
        self._messages = gauge("webhook_messages", "Messages to subscribers that wait to be delivered")
        self._suspended = gauge(
            "subscriptions_suspended", "Subscriptions whose receiver has failed for too long"
        )
        self._mails = counter("mailed_events", "Events that need not be told by mail any more", "outcome")
        self._mails_waiting = gauge("mail_events", "Events that wait to be told by mail")
        self._images = counter("shelved_images_removed", "Images of shelved servers, which are gone, removed")
        self._lent = gauge("hosts_lent", "Hosts that reservations lend to preemptible servers")
        self._taken_back = counter("lent_hosts_taken_back", "Hosts that reservations lend no longer")
        self._guests = gauge("lent_servers_leaving", "Servers that have to leave hosts that were lent")
        self._streams = gauge("streams", "Clients that wait for events now", "livesum")
        gauge("build_info", "Always 1; the label is of interest", "livemax", "version").labels(VERSION).set(1)

    def show_health(
        self, read: Callable[[], ManagerHealth], threads: Callable[[], Sequence[ThreadHealth]] = tuple
    ) -> None:
        """Add a manager's health to the metrics; it is read at each scrape. ``threads`` needs no database."""
        self.registry.register(_HealthCollector(read, threads))

    def exposition(self) -> tuple[str, bytes]:
        """Return the content type and the text that Prometheus reads."""
        registry = self.registry
        if MULTIPROCESS in os.environ:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return CONTENT_TYPE_LATEST, generate_latest(registry)

    # the methods of the port

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._request_seconds.labels(method, route).observe(seconds)

    def use_case_called(self, use_case: str, code: str, seconds: float) -> None:
        self._use_cases.labels(use_case, code).inc()
        self._use_case_seconds.labels(use_case).observe(seconds)

    def planned(self, shortage: str | None, seconds: float) -> None:
        self._plan_seconds.observe(seconds)
        if shortage is not None:
            self._shortages.labels(shortage).inc()

    def plan_conflicted(self) -> None:
        self._conflicts.inc()

    def transaction_retried(self) -> None:
        self._retries.inc()

    def quota_exceeded(self, limit: str) -> None:
        self._quota_refusals.labels(limit).inc()

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None:
        self._events.labels(event_type, outcome).inc()
        self._event_late.labels(event_type).observe(max(late, 0.0))
        self._event_seconds.labels(event_type).observe(seconds)

    def claims_held(self, number: int) -> None:
        self._claims.set(number)

    def claim_lost(self) -> None:
        self._claims_lost.inc()

    def notifications_delivered(self, number: int) -> None:
        self._delivered.inc(number)

    def cloud_called(self, service: str, method: str, outcome: str, seconds: float) -> None:
        self._cloud.labels(service, method, outcome).inc()
        self._cloud_seconds.labels(service, method).observe(seconds)

    def usage_filter_asked(self, filter: str, call: str, outcome: str, seconds: float) -> None:
        self._asked.labels(filter, call, outcome).inc()
        self._asked_seconds.labels(filter, call).observe(seconds)

    def reports_waiting(self, number: int) -> None:
        self._reports.set(number)

    def hosts_seen(self, failed: int, unknown: int, is_held_back: bool) -> None:
        self._hosts_failed.set(failed)
        self._hosts_unknown.set(unknown)
        self._held_back.set(is_held_back)

    def healed(self, moved: int, missed: int) -> None:
        self._moved.inc(moved)
        self._missed.inc(missed)

    def displaced(self, moved: int, waiting: int) -> None:
        self._displaced.labels("moves").inc(moved)
        self._displaced.labels("waits").inc(waiting)

    def replanned(self, leases: int) -> None:
        self._room.inc()
        self._replanned.inc(leases)

    def drift_seen(self, differences: Mapping[str, int], at: datetime | None) -> None:
        self._sorts |= differences.keys()  # what is over is shown as 0
        for sort in sorted(self._sorts):
            self._differences.labels(sort).set(differences.get(sort, 0))
        if at is not None:
            self._compared.set(at.timestamp())

    def lease_released(self) -> None:
        self._released.inc()

    def line_seen(self, waiting: int, oldest: float) -> None:
        self._waiting.set(waiting)
        self._waiting_longest.set(oldest)

    def webhook_sent(self, outcome: str, seconds: float) -> None:
        self._webhooks.labels(outcome).inc()
        self._webhook_seconds.observe(seconds)

    def webhooks_waiting(self, messages: int, suspended: int) -> None:
        self._messages.set(messages)
        self._suspended.set(suspended)

    def mails_settled(self, outcome: str, number: int) -> None:
        self._mails.labels(outcome).inc(number)

    def mails_waiting(self, number: int) -> None:
        self._mails_waiting.set(number)

    def streams_open(self, number: int) -> None:
        self._streams.set(number)

    def images_removed(self, number: int) -> None:
        self._images.inc(number)

    def hosts_lent(self, lent: int, taken_back: int, leaving: int) -> None:
        self._lent.set(lent)
        self._taken_back.inc(taken_back)
        self._guests.set(leaving)


class _HealthCollector(Collector):
    """The metrics that are read at each scrape."""

    def __init__(
        self, read: Callable[[], ManagerHealth], threads: Callable[[], Sequence[ThreadHealth]]
    ) -> None:
        self._read = read
        self._threads = threads

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return []  # so that registering reads nothing

    def collect(self) -> Iterable[GaugeMetricFamily]:
        yield from self._of_threads()
        try:
            found = self._read()
        except Exception:  # noqa: BLE001 - the edge of a scrape: the other metrics are shown whatever happens
            yield GaugeMetricFamily("blazar_database_up", "Whether the database answers", 0)
            return
        yield GaugeMetricFamily("blazar_database_up", "Whether the database answers", 1)
        yield GaugeMetricFamily(
            "blazar_event_lag_seconds",
            "How late the oldest event is that is due and not being worked on",
            found.event_lag_seconds,
        )
        yield GaugeMetricFamily(
            "blazar_events_waiting", "Events that are due and not being worked on", found.events_waiting
        )
        yield GaugeMetricFamily(
            "blazar_plans_waiting", "Requests that wait for their turn to be planned", found.plans_waiting
        )
        yield GaugeMetricFamily("blazar_outbox", "Notifications that are not delivered yet", found.outbox)
        yield GaugeMetricFamily(
            "blazar_subscription_lag_seconds",
            "How long the oldest notification has waited to be compared with the subscriptions",
            found.subscription_lag_seconds,
        )

    def _of_threads(self) -> Iterable[GaugeMetricFamily]:
        up = GaugeMetricFamily("blazar_thread_up", "Whether a thread of the manager works", labels=["thread"])
        silent = GaugeMetricFamily(
            "blazar_thread_silent_seconds", "Seconds since a thread's last sign of life", labels=["thread"]
        )
        for thread in self._threads():
            up.add_metric([thread.name], float(thread.state is ThreadState.OK))
            silent.add_metric([thread.name], thread.silent_seconds)
        yield up
        yield silent
