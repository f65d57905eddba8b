"""Users who reserve again and again, skip some days, and delete their series.

Half of the seeds have some of them, drawn by themselves: the other seeds are the same without this module.
No run lasts a day: only the first lease of a series begins in it, and the others are planned for later days
beside those of other series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from blazar.domain.errors import BlazarError, NotFound
from blazar.domain.lease.lease import Lease, LeaseStatus
from blazar.domain.lease.priority import Priority
from blazar.domain.series import OnConflict, Series
from blazar.service.commands import CreateSeries, PriorityWish, RequestKey, UpdateSeries
from blazar.service.series import SeriesDetails

from .broker import PATIENCE, UNSURE
from .kinds import KINDS
from .waiting import plain

if TYPE_CHECKING:
    from .database import Key, Written
    from .people import Action, User
    from .site import Site

MAKE, CHANGE = "make a series", "change a series"
RULES = (
    "FREQ=DAILY;COUNT=2",
    "FREQ=DAILY;COUNT=4",
    "FREQ=DAILY;INTERVAL=2;COUNT=3",
    "FREQ=WEEKLY;BYDAY=TU,WE;COUNT=3",
)
NOT_STARTED = (LeaseStatus.WAITING, LeaseStatus.PENDING)


def added(random: Random, actions: Sequence[Action]) -> list[Action]:
    """Return the actions with some that make series, and some that change them."""
    found = list(actions)
    places = [n for n, action in enumerate(found) if action.who != "operator"]
    if not places or random.random() < 0.5:
        return found
    for place in random.sample(places, min(len(places), random.choice((4, 8, 16)))):
        verb = random.choice((MAKE, CHANGE))
        found[place] = replace(found[place], verb=verb, seed=random.getrandbits(32))
    return found


def make(user: User, random: Random) -> None:
    """Ask for a series: for all of it, or for the days on which it can be had."""
    kinds = random.sample(user.kinds, min(len(user.kinds), random.choice((1, 1, 2))))
    requests = [KINDS[kind].request(random) for kind in kinds]
    start = user.in_minutes(random.choice((1, 1, 2, 3)))
    length = timedelta(minutes=random.choice((1, 2, 5, 30)))
    series_id = user.new_id()
    command = CreateSeries(
        series_id,
        "series",
        start,
        random.choice((length, start + length)),
        # Nothing that needs the user's own rights in the cloud may recur.
        tuple(replace(each, parameters={**each.parameters, **plain(each.parameters)}) for each in requests),
        random.choice(RULES),
        random.choice(("UTC", "Europe/Berlin")),
        random.choice(((), (), ((start + timedelta(days=1)).date(),))),
        random.choice(list(OnConflict)),
    )
    priority = random.choice((None, None, PriorityWish(random.choice(list(Priority)))))
    what = f"make {command.on_conflict} {command.rule} of {' '.join(kinds)} from {start:%H:%M} for {length}"

    def create(command: CreateSeries = command) -> SeriesDetails:
        key = RequestKey(series_id, "")
        return user.series.create(command, user.caller, key, priority=priority)  # type: ignore[no-any-return]  # a noun of RPC

    _ask(user, series_id, what, create)
    if user.known_series.get(series_id) is not None and random.random() < 0.3:
        # A request whose answer was lost is made again: it is the same series, and no lease is made.
        _ask(user, series_id, f"{what} again", lambda: create(replace(command, id=user.new_id())))


def change(user: User, random: Random) -> None:
    """Skip some days of a series, let it end earlier, give it a name, bring days back, or delete it."""
    known = [each for each in user.known_series.values() if each is not None]
    if not known:
        return make(user, random)
    series = random.choice(known)
    days = [each.day for each in series.occurrences]
    what = random.choice(("skip", "skip", "stop", "rename", "delete", "delete"))
    if what == "delete":
        return _delete(user, series, keeps_started=random.random() < 0.5)
    skipped, last = random.sample(days, min(len(days), 2)), random.choice(days)
    number = random.randrange(100)
    missing = tuple(each.day for each in series.occurrences if each.lease_id is None)
    if missing and (what == "rename" or number % 3 == 0):
        return _restore(user, series, missing)
    command = {
        "skip": UpdateSeries(exceptions=tuple(sorted(skipped))),
        "stop": UpdateSeries(last_day=last),
        "rename": UpdateSeries(name=f"name{number}"),
    }[what]
    _ask(
        user,
        series.id,
        f"{what} series {series.id[:4]} {' '.join(map(str, command.exceptions))}",
        lambda: user.series.update(series.id, command, user.caller),
    )
    return None


def _restore(user: User, series: Series, days: tuple[date, ...]) -> None:
    what = f"restore series {series.id[:4]} {' '.join(map(str, days))}"
    _ask(user, series.id, what, lambda: user.series.restore(series.id, days, user.caller))


def _delete(user: User, series: Series, keeps_started: bool) -> None:
    def delete() -> None:
        user.series.delete(series.id, user.caller, keeps_started=keeps_started)
        for lease in _leases_of(user.site, series.id):
            stays = lease.status is LeaseStatus.TERMINATED or keeps_started
            if lease.status in NOT_STARTED or not stays:
                user.rules.fail(
                    "what is acknowledged is there",
                    f"lease {lease.id} is {lease.status}: its series is deleted",
                )

    _ask(user, series.id, f"delete series {series.id[:4]}{' but what has started' * keeps_started}", delete)


def _ask(user: User, series_id: str, what: str, call: Callable[[], SeriesDetails | None]) -> None:
    """Ask for something, and remember what came of it."""
    number = len(user.world.trace) + 1
    user.world.tell(what, "asked")
    is_known = user.known_series.get(series_id) is not None
    try:
        details = call()
    except UNSURE as failure:
        user.world.tell(f"{what} (asked in line {number})", f"not known: {failure}")
        user.world.scheduler.sleep(PATIENCE + 10)
        _learn(user, series_id)
    except BlazarError as refusal:
        user.world.tell(f"{what} (asked in line {number})", f"refused: {refusal}")
        if is_known and isinstance(refusal, NotFound):
            _learn(user, series_id)
        require_known(user, series_id, "what is refused has no effect")
    else:
        user.world.tell(f"{what} (asked in line {number})", "done")
        told = details.series if details else None
        user.known_series[series_id] = told
        require_known(user, series_id, "what is acknowledged is there")
        missing = (
            {each.id for each in details.leases} ^ _there(user.site, told) if details and told else set()
        )
        if missing:
            user.rules.fail("what is acknowledged is there", f"series {series_id} is told without {missing}")
        _learn(user, series_id)


def _learn(user: User, series_id: str) -> None:
    """Look at the series, and at those of its leases that are new or gone."""
    user.known_series[series_id] = user.site.series().get(series_id)
    there = {lease.id for lease in _leases_of(user.site, series_id)}
    known = {i for i, each in user.known.items() if each.lease and each.lease.series_id == series_id}
    for lease_id in sorted(there ^ known):
        if lease_id not in user.known or lease_id in known:
            user.see(lease_id)


def require_known(user: User, series_id: str, rule: str) -> None:
    """The series is as its user knows it, and each of its leases is there but those that the user deleted."""
    known, stored = user.known_series.get(series_id), user.site.series().get(series_id)
    if _asked_for(known) != _asked_for(stored):
        user.rules.fail(rule, f"series {series_id} is {_asked_for(stored)} instead of {_asked_for(known)}")
    for lease_id in stored.lease_ids if stored else ():
        is_deleted = lease_id in user.known and user.known[lease_id].lease is None
        if lease_id not in user.site.leases() and not is_deleted:
            user.rules.fail("no occurrence is lost", f"lease {lease_id} of series {series_id} is gone")


def made_in_part(changes: Mapping[Key, Written]) -> Iterator[str]:
    """Yield what a commit lacks of the series that it makes, or of the days that it restores."""
    new = [row.after for (table, _), row in changes.items() if table == "leases" and row.before is None]
    made = {lease.id: lease for lease in new if lease is not None and lease.series_id is not None}
    for (table, _), row in changes.items():
        if table != "series" or row.after is None:
            continue
        series: Series = row.after.series
        before = {each.day: each for each in row.before.series.occurrences} if row.before else {}
        for each in series.occurrences:
            old = before.get(each.day)
            if old is not None and each.lease_id in (None, old.lease_id):
                continue
            lease = made.pop(each.lease_id, None) if each.lease_id else None
            if lease is None and (each.lease_id is not None or series.on_conflict is OnConflict.REFUSE):
                yield f"series {series.id} has no lease on {each.day}"
            if lease is not None and (lease.interval, lease.series_id) != (each.interval, series.id):
                yield f"lease {lease.id} is not that of series {series.id} on {each.day}"
    for lease in made.values():
        yield f"lease {lease.id} is made without its series"


def unlisted(site: Site) -> Iterator[str]:
    """Yield the leases of which their series knows nothing: those of cancelled days, and what is ahead of a
    series that is deleted."""
    for lease in site.leases().values():
        if lease.series_id is None or lease.status is LeaseStatus.DELETING:
            continue
        series = site.series().get(lease.series_id)
        if lease.id not in series.lease_ids if series else lease.status in NOT_STARTED:
            yield f"lease {lease.id}, which is {lease.status}, of series {lease.series_id}"


def _leases_of(site: Site, series_id: str) -> list[Lease]:
    """Return the leases of the series that are there."""
    return [
        lease
        for lease in site.leases().values()
        if lease.series_id == series_id and lease.status is not LeaseStatus.DELETING
    ]


def _there(site: Site, series: Series) -> set[str]:
    return {each for each in series.lease_ids if each in site.leases()}


def _asked_for(series: Series | None) -> Any:
    if series is None:
        return "gone"
    return series.name, series.exceptions, [(each.day, each.lease_id) for each in series.occurrences]
