"""The message broker of the site: calls go to any manager, and get lost, late, or there twice; answers get
lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from blazar.domain.errors import Busy, CloudUnavailable, Internal

from .scheduler import Process
from .threads import Event
from .world import SimulatedClock, World

SHARES = (1 / 6, 1 / 3, 1 / 2)
IN_TIME = 0.9
"""As in blazar.rpc.messaging, whose transport this one stands for."""
PATIENCE = 30.0
UNSURE = (CloudUnavailable, Busy, Internal)
"""After these a user does not know whether it was done."""
LATENCY = 0.005
Answer = Callable[[Mapping[str, Any], str, str, Mapping[str, Any]], Mapping[str, Any]]


class Broker:
    """A topic: managers that listen, and calls that wait to be taken."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._listeners: list[tuple[Process, Answer]] = []
        self._waiting: list[Callable[[Process, Answer], None]] = []

    def listen(self, process: Process, answer: Answer) -> None:
        """Take calls from now on, also those that have waited."""
        self._listeners = [found for found in self._listeners if not found[0].dead]
        self._listeners.append((process, answer))
        waiting, self._waiting = self._waiting, []
        for deliver in waiting:
            deliver(process, answer)

    def publish(self, deliver: Callable[[Process, Answer], None]) -> None:
        """Have a call delivered to one of the managers that listen, or to the first one that comes back."""
        alive = [found for found in self._listeners if not found[0].dead]
        if alive:
            deliver(*self.world.dice.choice(alive))
        else:
            self._waiting.append(deliver)


class SimulatedTransport:
    """The Transport of one blazar-api."""

    def __init__(self, broker: Broker, process: Process, clock: SimulatedClock) -> None:
        self._broker = broker
        self._world = broker.world
        self._process = process
        self._clock = clock

    def call(
        self, noun: str, use_case: str, arguments: Mapping[str, Any], calling: Any
    ) -> tuple[Mapping[str, Any], bool]:
        patience = calling.patience or PATIENCE
        for number, share in enumerate(SHARES if calling.repeatable else (1.0,)):
            answer = self._once(f"{noun}.{use_case}", dict(arguments), patience * share)
            if answer is not None:
                return answer, number > 0
        raise CloudUnavailable(service="blazar-manager", reason="no manager answered in time")

    def _once(self, name: str, arguments: dict[str, Any], seconds: float) -> Mapping[str, Any] | None:
        world = self._world
        sent = self._clock.now()
        deadline = sent + timedelta(seconds=seconds * IN_TIME)
        context = {
            "call": f"{world.dice.getrandbits(64):x}",
            "sent": sent.isoformat(),
            "deadline": deadline.isoformat(),
        }
        words = json.dumps(arguments)
        answered = Event(world.scheduler)
        answers: list[Mapping[str, Any]] = []

        def deliver(process: Process, answer: Answer) -> None:
            def work() -> None:
                world.scheduler.sleep(world.dice.expovariate(1 / LATENCY))
                found = json.loads(json.dumps(answer(context, *name.split("."), json.loads(words))))
                if world.weather.strike("reply", self._process):
                    world.tell(f"answer to {name}", "lost")
                    return
                answers.append(found)
                answered.set()

            world.scheduler.spawn(f"rpc-{name.split('.')[1]}", process, work)

        trouble = world.weather.strike("message", self._process)
        if trouble is not None:
            world.tell(name, trouble.kind)
        kind = trouble.kind if trouble else None
        for _ in range({"message lost": 0, "message twice": 2}.get(kind or "", 1)):
            if kind == "message late":
                world.scheduler.after(
                    seconds * 1.5 * world.dice.random(), lambda: self._broker.publish(deliver)
                )
            else:
                self._broker.publish(deliver)
        answered.wait(seconds)
        return answers[0] if answers else None
