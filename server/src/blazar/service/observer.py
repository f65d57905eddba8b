"""What happens, and how long it takes: told to whoever counts it for operators. Nothing is ever decided by it."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Is told. Seconds are durations; every method is quick and raises nothing."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """blazar-api answered a request to ``route``, the path as the route table has it."""

    def use_case_called(self, use_case: str, code: str, seconds: float) -> None:
        """blazar-manager carried out a call from the wire; ``code`` is that of the error, or ``ok``."""

    def planned(self, shortage: str | None, seconds: float) -> None:
        """A request was planned; ``shortage`` is the cause of the refusal."""

    def was_overtaken(self) -> None:
        """A plan was made in vain, for another request was faster; it is made again."""

    def transaction_repeated(self) -> None:
        """A deadlock or a serialization failure."""

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None:
        """A manager worked on an event that was due ``late`` seconds ago."""

    def claims_held(self, number: int) -> None:
        """So many events are being worked on by this manager now."""

    def claim_lost(self) -> None:
        """An event was taken over by another manager while this one worked on it."""

    def notices_delivered(self, number: int) -> None:
        """Notifications left the outbox."""

    def cloud_asked(self, service: str, method: str, outcome: str, seconds: float) -> None:
        """A service of the cloud answered with the status ``outcome``, or ``failed`` to."""


class Nobody:
    """The Observer where no figures are wanted."""

    def request_answered(self, method: str, route: str, status: int, seconds: float) -> None: ...

    def use_case_called(self, use_case: str, code: str, seconds: float) -> None: ...

    def planned(self, shortage: str | None, seconds: float) -> None: ...

    def was_overtaken(self) -> None: ...

    def transaction_repeated(self) -> None: ...

    def event_run(self, event_type: str, outcome: str, late: float, seconds: float) -> None: ...

    def claims_held(self, number: int) -> None: ...

    def claim_lost(self) -> None: ...

    def notices_delivered(self, number: int) -> None: ...

    def cloud_asked(self, service: str, method: str, outcome: str, seconds: float) -> None: ...


NOBODY = Nobody()
