"""The simulated counterparts of threads, locks, pools, the monotonic time, ids and random numbers.

``rewired`` puts them into the modules of the service for the length of a run: wherever a module holds the
real thing, by whatever name, it gets the simulated one. So the service's own threads and loops run here,
unchanged, and a new module of the service needs no word here."""

from __future__ import annotations

import concurrent.futures
import importlib
import pkgutil
import random
import sys
import threading
import time
import types
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

import blazar
from blazar.rpc.codec import Codec

from .scheduler import SECOND, Process, Scheduler, Task

OUTSIDE = Process("outside")
LEFT_OUT = ("blazar.wsgi", "blazar.adapters.db.migrations")
"""What is not to be imported without being run."""


class Simulated:
    """Everything that a module may use of ``threading``, ``time``, ``uuid``, ``random`` and
    ``concurrent.futures``."""

    def __init__(self, scheduler: Scheduler, seed: str) -> None:
        self._scheduler = scheduler
        self._ids = Random(f"{seed}/ids")
        self.random = Random(f"{seed}/random")
        self.threading = types.SimpleNamespace(
            Thread=lambda **options: Thread(scheduler, **options),
            Event=lambda: Event(scheduler),
            Lock=lambda: Lock(scheduler),
            RLock=lambda: Lock(scheduler, is_reentrant=True),
            Condition=lambda: Condition(scheduler),
            get_ident=lambda: id(scheduler.current),
        )
        self.time = types.SimpleNamespace(
            monotonic=self.monotonic,
            perf_counter=self.monotonic,
            time=self.monotonic,
            sleep=scheduler.sleep,
        )
        self.futures = types.SimpleNamespace(
            ThreadPoolExecutor=self.pool,
            wait=self.wait,
            Future=concurrent.futures.Future,
            TimeoutError=TimeoutError,
        )

    def monotonic(self) -> float:
        return self._scheduler.now / SECOND

    def uuid4(self) -> uuid.UUID:
        return uuid.UUID(int=self._ids.getrandbits(128), version=4)

    def pool(self, max_workers: int = 8, thread_name_prefix: str = "worker") -> Pool:
        return Pool(self._scheduler, max_workers, thread_name_prefix)

    def wait(self, futures: Iterable[Any], timeout: float | None = None) -> tuple[set[Any], set[Any]]:
        """Wait for futures, looking at them every tenth of a second."""
        waited, futures = 0.0, list(futures)
        while not all(f.done() for f in futures) and (timeout is None or waited < timeout):
            self._scheduler.sleep(0.1)
            waited += 0.1
        return {f for f in futures if f.done()}, {f for f in futures if not f.done()}

    def replacements(self) -> list[tuple[Any, Any]]:
        """Each real thing with its simulated one."""
        named = self.threading
        return [
            (threading, named),
            (threading.Thread, named.Thread),
            (threading.Event, named.Event),
            (threading.Lock, named.Lock),
            (threading.RLock, named.RLock),
            (threading.Condition, named.Condition),
            (time, self.time),
            (time.monotonic, self.monotonic),
            (time.perf_counter, self.monotonic),
            (time.sleep, self._scheduler.sleep),
            (uuid.uuid4, self.uuid4),
            (random, self.random),
            (concurrent.futures, self.futures),
            (concurrent.futures.ThreadPoolExecutor, self.pool),
            (concurrent.futures.wait, self.wait),
            (Codec, shared_codec),
        ]


def shared_codec(interfaces: Mapping[str, type]) -> Codec:
    """Return the codec of these interfaces: it is a value, and to make it anew for every process would take a
    quarter of the time of a run."""
    key = tuple(sorted(interfaces.items()))
    if key not in _codecs:
        _codecs[key] = Codec(interfaces)
    return _codecs[key]


_codecs: dict[tuple[tuple[str, type], ...], Codec] = {}


class Lock:
    """A lock for which the others wait their turn, in any order."""

    def __init__(self, scheduler: Scheduler, is_reentrant: bool = False) -> None:
        self._scheduler = scheduler
        self._is_reentrant = is_reentrant
        self._owner: object = None
        self._depth = 0
        self._waiters: list[Task] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = self._scheduler.current or OUTSIDE
        while self._depth and not (self._is_reentrant and self._owner is me):
            if not blocking:
                return False
            assert self._scheduler.current is not None, "a lock is taken that a task holds"
            self._waiters.append(self._scheduler.current)
            if not self._scheduler.park(None if timeout < 0 else timeout):
                return False
        self._owner, self._depth = me, self._depth + 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                self._scheduler.wake(waiter)

    def locked(self) -> bool:
        return bool(self._depth)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Condition(Lock):
    """A condition with a lock of its own."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(scheduler, is_reentrant=True)
        self._sleepers: list[Task] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert self._scheduler.current is not None
        self._sleepers.append(self._scheduler.current)
        depth, self._depth = self._depth, 1
        self.release()
        woken = self._scheduler.park(timeout)
        self.acquire()
        self._depth = depth
        return woken

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        end = None if timeout is None else self._scheduler.now + timeout * SECOND
        while not predicate():
            left = None if end is None else (end - self._scheduler.now) / SECOND
            if left is not None and left <= 0:
                return False
            self.wait(left)
        return True

    def notify_all(self) -> None:
        self.notify(len(self._sleepers))

    def notify(self, number: int = 1) -> None:
        sleepers, self._sleepers = self._sleepers[:number], self._sleepers[number:]
        for sleeper in sleepers:
            self._scheduler.wake(sleeper)


class Event:
    """A flag that tasks wait for."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._is_set = False
        self._waiters: list[Task] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            self._scheduler.wake(waiter)

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        if self._is_set:
            self._scheduler.switch()
        elif self._scheduler.current is not None:
            self._waiters.append(self._scheduler.current)
            self._scheduler.park(timeout)
            self._waiters = [w for w in self._waiters if w is not self._scheduler.current]
        return self._is_set


class Thread:
    """A thread of the process whose task starts it."""

    def __init__(
        self,
        scheduler: Scheduler,
        target: Callable[..., Any] = lambda: None,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        name: str = "thread",
        daemon: bool = True,
    ) -> None:
        self._scheduler = scheduler
        self._work = lambda: target(*args, **(kwargs or {}))
        self.name = name
        self._task: Task | None = None

    def start(self) -> None:
        current = self._scheduler.current
        self._task = self._scheduler.spawn(self.name, current.process if current else OUTSIDE, self._work)

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.finished

    def join(self, timeout: float | None = None) -> None:
        if self._task is not None and not self._task.finished and self._scheduler.current is not None:
            self._task.waiters.append(self._scheduler.current)
            self._scheduler.park(timeout)


class Pool:
    """A ThreadPoolExecutor: a task for each piece of work, and never more than ``workers`` at once."""

    def __init__(self, scheduler: Scheduler, workers: int, name: str) -> None:
        self._scheduler = scheduler
        self._idle = workers
        self._name = name
        self._waiting: deque[tuple[Any, Callable[[], Any]]] = deque()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._waiting.append((future, lambda: function(*args, **kwargs)))
        self._begin()
        return future

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        if cancel_futures:
            for future, _ in self._waiting:
                future.cancel()
            self._waiting.clear()

    def _begin(self) -> None:
        if self._idle and self._waiting:
            self._idle -= 1
            future, work = self._waiting.popleft()
            assert self._scheduler.current is not None
            self._scheduler.spawn(
                self._name, self._scheduler.current.process, lambda: self._run(future, work)
            )

    def _run(self, future: Any, work: Callable[[], Any]) -> None:
        try:
            result = work()
        except Exception as failure:  # noqa: BLE001 - as in a real pool, the future holds it
            self._idle += 1
            future.set_exception(failure)
        else:
            self._idle += 1
            future.set_result(result)
        self._begin()


@contextmanager
def rewired(simulated: Simulated) -> Iterator[None]:
    """Put the simulated things into all modules of the service, and take them out again."""
    new = {id(real): made for real, made in simulated.replacements()}
    undo: list[Callable[[], None]] = []
    try:
        for module in service_modules():
            for name, value in list(vars(module).items()):
                if id(value) in new:
                    undo.append(partial(setattr, module, name, value))
                    setattr(module, name, new[id(value)])
            for function in _functions(module):
                defaults = function.__defaults__ or ()
                if any(id(value) in new for value in defaults):
                    undo.append(partial(setattr, function, "__defaults__", defaults))
                    function.__defaults__ = tuple(new.get(id(value), value) for value in defaults)
        yield
    finally:
        for step in reversed(undo):
            step()


def service_modules() -> list[types.ModuleType]:
    """Return all modules of the service, imported; but not that of blazar-api with a thread of its own, which
    has no place in a run, and may still be at work for a test before."""
    if not _imported:
        for found in pkgutil.walk_packages(blazar.__path__, "blazar."):
            if not found.name.startswith(LEFT_OUT) and not found.name.startswith("blazar.cmd"):
                importlib.import_module(found.name)
        _imported.append(True)
    known = sorted(sys.modules.items())
    return [m for name, m in known if name.split(".")[0] == "blazar" and name != "blazar.api.streams"]


_imported: list[bool] = []


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        members = vars(value).values() if isinstance(value, type) else (value,)
        yield from (member for member in members if isinstance(member, types.FunctionType))
