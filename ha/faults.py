"""Faults of programs, database, broker and cloud, injected at random and repaired again."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable

from sqlalchemy.exc import OperationalError

from .programs import Program
from .site import CLAIM, Site

LONGEST_WAIT = 20
"""Seconds for which a fault waits for a call that it hits."""
SERVICES = ("compute", "placement", "network")


class FaultInjector(threading.Thread):
    """A thread that injects faults of one kind, one at a time, until it is stopped.

    The kinds are the ``programs`` of the service, its ``database``, and its ``surroundings``, which are the
    broker and the cloud. ``repair`` then brings everything back."""

    def __init__(
        self, site: Site, stopping: threading.Event, kind: str, seconds: float, seed: int = 1
    ) -> None:
        super().__init__(name=f"faults of {kind}", daemon=True)
        self._site, self._stopping = site, stopping
        self._faults: list[Callable[[], None]] = {
            "programs": [
                self._kill_a_manager,
                self._set_a_clock,
                self._kill_an_api,
                self._suspend_a_manager,
                self._kill_a_manager,
                self._set_a_clock,
            ],
            "database": [
                self._cancel_statements,
                self._kill_the_database,
                self._restart_the_database,
                self._cut_the_database,
                self._cancel_statements,
            ],
            "surroundings": [
                self._lose_the_broker,
                self._fail_a_fifth_of_the_calls,
                self._answer_slowly,
                self._hang,
                self._answer_garbage,
                self._expire_tokens,
            ],
        }[kind]
        self._jump = 4 * CLAIM
        self._longest = min(60.0, seconds / 5)
        self._longest_hang = min(25.0, seconds / 10)
        self._random = random.Random(seed)
        self.made: Counter[str] = Counter()
        self.hung = 0
        """Calls that Nova took and did not answer before the fault was over."""

    def run(self) -> None:
        while not self._stopping.is_set():
            for fault in self._faults:
                self._pause(1)
                if self._stopping.is_set():
                    return
                fault()
            self._random.shuffle(self._faults)

    def repair(self) -> None:
        self._site.server.start()
        self._site.broker_relay.up()
        self._site.sandbox("DELETE", "/faults")
        for program in (*self._site.managers, *self._site.apis):
            if program.runs:
                program.send(signal.SIGCONT)
            else:
                program.start()

    def _pause(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _kill(self, programs: list[Program], words: str) -> None:
        victim = self._random.choice(programs)
        victim.kill()
        self.made[words] += 1
        self._pause(self._random.uniform(0.5, 1.5))
        victim.start()
        self._pause(2)

    def _kill_a_manager(self) -> None:
        self._kill(self._site.managers, "kill -9 of a manager")

    def _kill_an_api(self) -> None:
        self._kill(self._site.apis, "kill -9 of an API")

    def _suspend_a_manager(self) -> None:
        victim = self._random.choice(self._site.managers)
        victim.send(signal.SIGSTOP)
        self.made["manager suspended for longer than its claim"] += 1
        self._pause(CLAIM + 2)
        victim.send(signal.SIGCONT)

    def _set_a_clock(self) -> None:
        """Set a clock by more than a claim holds, ahead and back in turn."""
        victim = self._random.choice(self._site.managers)
        self._site.set_clocks(self._jump, victim)
        self.made[
            f"manager's clock {abs(self._jump)} s {'ahead' if self._jump > 0 else 'behind'} for a while"
        ] += 1
        self._jump = -self._jump
        self._pause(self._random.uniform(2, 5))
        self._site.set_clocks(0, victim)
        self._pause(2)

    def _lose_the_broker(self) -> None:
        """Take the broker away, the first time for long."""
        seconds, self._longest = self._longest or self._random.uniform(3, 6), 0
        self._site.broker_relay.down()
        self.made["broker away" if seconds < 60 else "broker away for a minute"] += 1
        self._pause(seconds)
        self._site.broker_relay.up()
        self._pause(4)

    def _kill_the_database(self) -> None:
        self._site.server.kill()
        self._back_after("kill -9 of the database")

    def _restart_the_database(self) -> None:
        self._site.server.stop()
        self._back_after("database restarted")

    def _back_after(self, words: str) -> None:
        self.made[words] += 1
        self._pause(self._random.uniform(0.5, 2))
        self._site.server.start()
        self._pause(4)

    def _cut_the_database(self) -> None:
        self._site.server.cut(self._site.name)
        self.made["connections to the database cut off"] += 1
        self._pause(2)

    def _cancel_statements(self) -> None:
        """Cut off statements for some seconds. ``DatabaseServer.cancelled`` tells how many were met."""
        for _ in range(2):
            with contextlib.suppress(OperationalError):  # a statement of the storm's own was met
                self._site.server.cancel(self._site.name)
            self._pause(self._random.uniform(0, 1))
        self.made["statements cut off for four seconds"] += 1

    def _cloud(self, words: str, seconds: float, *faults: dict[str, object]) -> None:
        for fault in faults:
            self._site.sandbox("POST", "/faults", json=fault)
        self.made[words] += 1
        self._pause(seconds)
        self._site.sandbox("DELETE", "/faults")

    def _fail_a_fifth_of_the_calls(self) -> None:
        faults = (
            {"service": s, "rate": 0.2, "status": 500, "when": w}
            for s in SERVICES
            for w in ("before", "after")
        )
        self._cloud("a fifth of the cloud's calls fail", 6, *(dict(fault) for fault in faults))

    def _answer_slowly(self) -> None:
        slow = {"service": "compute", "effect": "delay", "seconds": 5.0, "rate": 0.5}
        self._cloud("the cloud takes 5 s", 6, slow)

    def _hang(self) -> None:
        """Let Nova take calls and not answer, the first time for longer than calls wait where there is time
        for it. It answers all of them when it is over. It is not over before there is such a call."""
        seconds, self._longest_hang = self._longest_hang or self._random.uniform(3, 8), 0
        fault = self._site.sandbox("POST", "/faults", json={"service": "compute", "effect": "hang"})
        self._pause(seconds)
        end = time.monotonic() + LONGEST_WAIT
        while not (hits := self._hits(fault["id"])) and time.monotonic() < end:
            time.sleep(0.1)
        self.hung += hits
        self._site.sandbox("DELETE", "/faults")
        self.made["Nova takes calls and does not answer"] += 1

    def _hits(self, fault_id: str) -> int:
        listed = self._site.sandbox("GET", "/faults")["faults"]
        return sum(each["hits"] for each in listed if each["id"] == fault_id)

    def _answer_garbage(self) -> None:
        faults = ({"service": s, "effect": "garbage", "status": 200, "rate": 0.3} for s in SERVICES)
        self._cloud("the cloud answers garbage", 5, *(dict(fault) for fault in faults))

    def _expire_tokens(self) -> None:
        faults = ({"service": s, "status": 401, "rate": 0.5} for s in SERVICES)
        self._cloud("the service's tokens are refused", 4, *(dict(fault) for fault in faults))
