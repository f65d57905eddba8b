"""The port that is told what happens and how long it takes, for operators. No decision depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol


class Metrics(Protocol):
    """Is told. Seconds are durations; every method is quick and raises nothing."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """blazar-api answered a request to ``route``, the path as the route table has it."""

    def use_case_called(self, use_case: str, code: str, seconds: float) -> None:
        """blazar-manager carried out a call from the wire; ``code`` is that of the error, or ``ok``."""

    def planned(self, shortage: str | None, seconds: float) -> None:
        """A request was planned; ``shortage`` is the cause of the refusal."""

    def plan_conflicted(self) -> None:
        """A plan was made in vain, for another request was faster; it is made again."""

    def transaction_retried(self) -> None:
        """A deadlock or a serialization failure."""

    def quota_exceeded(self, limit: str) -> None:
        """A change of a lease was refused, for it takes more than this limit of its project allows."""

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None:
        """A manager worked on an event that was due ``late`` seconds ago."""

    def claims_held(self, number: int) -> None:
        """So many events are being worked on by this manager now."""

    def claim_lost(self) -> None:
        """An event was taken over by another manager while this one worked on it."""

    def notifications_delivered(self, number: int) -> None:
        """Notifications left the outbox."""

    def cloud_called(self, service: str, method: str, outcome: str, seconds: float) -> None:
        """A service of the cloud answered with the status ``outcome``, or ``failed`` to."""

    def usage_filter_asked(self, filter: str, call: str, outcome: str, seconds: float) -> None:
        """A usage filter was asked or told about a lease: ``ok``, ``refused``, or ``failed``."""

    def reports_waiting(self, number: int) -> None:
        """So many reports to usage filters wait."""

    def hosts_seen(self, failed: int, unknown: int, is_held_back: bool) -> None:
        """The monitor saw so many registered hosts failed, and so many not at all. With ``is_held_back`` too
        many fail at once for it to believe it."""

    def healed(self, moved: int, missed: int) -> None:
        """So many reservations got other resources, and so many have lost some that could not be replaced."""

    def displaced(self, moved: int, waiting: int) -> None:
        """A lease of a higher priority has moved so many leases to other resources, and so many wait."""

    def replanned(self, leases: int) -> None:
        """So many leases that have not begun were planned on other resources, to make room for a new one."""

    def drift_seen(self, differences: Mapping[str, int], at: datetime | None) -> None:
        """The comparison with the cloud that ended at ``at`` has left so many differences of each sort.
        Without ``at``, another manager has compared since."""

    def lease_released(self) -> None:
        """A lease was released, for it was unused when it had to be used."""

    def line_seen(self, waiting: int, oldest: float) -> None:
        """So many leases wait in line, one of them for ``oldest`` seconds already."""

    def webhook_sent(self, outcome: str, seconds: float) -> None:
        """An attempt to send a message to a subscriber was ``ok`` or ``failed``."""

    def webhooks_waiting(self, messages: int, suspended: int) -> None:
        """So many messages to subscribers wait, and so many subscriptions are suspended."""

    def mails_settled(self, outcome: str, number: int) -> None:
        """So many events need not be told by mail any more: they were ``sent``, ``refused`` by the server,
        ``expired``, ``left_out`` of a mail with too many, or their user has ``no_address``."""

    def mails_waiting(self, number: int) -> None:
        """So many events wait to be told by mail."""

    def streams_open(self, number: int) -> None:
        """So many clients wait for events at this process of blazar-api now."""

    def images_removed(self, number: int) -> None:
        """So many images of shelved servers were removed, for the servers are gone."""

    def hosts_lent(self, lent: int, taken_back: int, leaving: int) -> None:
        """So many hosts are lent to preemptible servers now, so many are not any more since the last look,
        and so many servers are still on such hosts."""


class NoMetrics:
    """The Metrics where no metrics are wanted."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None: ...

    def use_case_called(self, use_case: str, code: str, seconds: float) -> None: ...

    def planned(self, shortage: str | None, seconds: float) -> None: ...

    def plan_conflicted(self) -> None: ...

    def transaction_retried(self) -> None: ...

    def quota_exceeded(self, limit: str) -> None: ...

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None: ...

    def claims_held(self, number: int) -> None: ...

    def claim_lost(self) -> None: ...

    def notifications_delivered(self, number: int) -> None: ...

    def cloud_called(self, service: str, method: str, outcome: str, seconds: float) -> None: ...

    def usage_filter_asked(self, filter: str, call: str, outcome: str, seconds: float) -> None: ...

    def reports_waiting(self, number: int) -> None: ...

    def hosts_seen(self, failed: int, unknown: int, is_held_back: bool) -> None: ...

    def healed(self, moved: int, missed: int) -> None: ...

    def displaced(self, moved: int, waiting: int) -> None: ...

    def replanned(self, leases: int) -> None: ...

    def drift_seen(self, differences: Mapping[str, int], at: datetime | None) -> None: ...

    def lease_released(self) -> None: ...

    def line_seen(self, waiting: int, oldest: float) -> None: ...

    def webhook_sent(self, outcome: str, seconds: float) -> None: ...

    def webhooks_waiting(self, messages: int, suspended: int) -> None: ...

    def mails_settled(self, outcome: str, number: int) -> None: ...

    def mails_waiting(self, number: int) -> None: ...

    def streams_open(self, number: int) -> None: ...

    def images_removed(self, number: int) -> None: ...

    def hosts_lent(self, lent: int, taken_back: int, leaving: int) -> None: ...


NO_METRICS = NoMetrics()
