"""What users are to be told by mail, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from blazar.adapters.memory.state import HeldItem, MailLane, State
from blazar.adapters.stored import through_json
from blazar.domain.mail import MailChoice
from blazar.domain.subscription import LeaseEvent
from blazar.service.ports import LONGEST_MAIL_DELAY, MOST_FORGOTTEN, MailBatch, MailItem


class MemoryMails:
    """The MailRepository of one transaction."""

    def __init__(self, state: State) -> None:
        self._state = state

    def waiting(self, user_ids: Collection[str]) -> Mapping[str, int]:
        return {id_: len(self._of(id_)) for id_ in user_ids if id_ in self._state.mail_lanes}

    def put(self, user_id: str, items: Sequence[MailItem], left_out: int, due: datetime) -> None:
        lane = self._state.mail_lanes.get(user_id) or MailLane(due)
        if not self._of(user_id):
            lane = replace(lane, due=max(lane.due, due))
        self._state.mail_lanes[user_id] = replace(lane, left_out=lane.left_out + left_out)
        for each in items:
            self._state.last_mail += 1
            document = through_json(dict(each.document))
            self._state.mails[self._state.last_mail] = HeldItem(
                replace(each, id=self._state.last_mail, document=document), due
            )

    def ready(self, now: datetime, limit: int) -> Sequence[str]:
        due = [(lane.attempts, lane.due, id_) for id_, lane in self._state.mail_lanes.items()]
        return [id_ for _, _, id_ in sorted(due) if self._is_due(id_, now)][:limit]

    def take(self, user_id: str, token: str, now: datetime, until: datetime) -> MailBatch | None:
        if not self._is_due(user_id, now):
            return None
        lane, items = self._state.mail_lanes[user_id], self._of(user_id)
        taken = [each for each in items if lane.last is None or each.id <= lane.last] or items
        self._state.mail_lanes[user_id] = replace(lane, token=token, due=until, last=taken[-1].id)
        return MailBatch(user_id, taken, lane.left_out, lane.attempts, token)

    def settle(self, batch: MailBatch, due: datetime) -> None:
        for each in batch.items:
            self._state.mails.pop(each.id, None)
        lane = self._state.mail_lanes.get(batch.user_id)
        if lane is None or lane.token != batch.token:
            return
        left_out = lane.left_out - batch.left_out
        self._state.mail_lanes[batch.user_id] = MailLane(due, left_out=left_out)

    def put_off(self, batch: MailBatch, due: datetime, attempts: int) -> None:
        lane = self._state.mail_lanes.get(batch.user_id)
        if lane is not None and lane.token == batch.token:
            self._state.mail_lanes[batch.user_id] = replace(lane, token=None, due=due, attempts=attempts)

    def choices(self, user_ids: Collection[str]) -> Mapping[str, MailChoice]:
        chosen = self._state.mail_choices
        return {user_id: chosen[user_id] for user_id in user_ids if user_id in chosen}

    def choose(
        self, user_id: str, choice: MailChoice, unwanted: Collection[LeaseEvent], due: datetime
    ) -> None:
        if choice == MailChoice():
            self._state.mail_choices.pop(user_id, None)
        else:
            self._state.mail_choices[user_id] = choice
        for each in self._of(user_id):
            if each.event in unwanted:
                del self._state.mails[each.id]
        lane = self._state.mail_lanes.get(user_id)
        if lane is not None and lane.token is None and not lane.attempts and self._of(user_id):
            self._state.mail_lanes[user_id] = replace(lane, due=due)

    def count(self) -> int:
        return len(self._state.mails)

    def forget(self, before: datetime, now: datetime) -> int:
        old = [each.item for each in self._state.mails.values() if each.due <= before][:MOST_FORGOTTEN]
        for each in old:
            del self._state.mails[each.id]
        for user_id, lane in list(self._state.mail_lanes.items()):
            if not self._of(user_id) and lane.due <= now:
                del self._state.mail_lanes[user_id]
        return len(old)

    def _of(self, user_id: str) -> list[MailItem]:
        of_user = [held.item for held in self._state.mails.values() if held.item.user_id == user_id]
        return sorted(of_user, key=lambda each: each.id)

    def _is_due(self, user_id: str, now: datetime) -> bool:
        lane = self._state.mail_lanes.get(user_id)
        is_due = lane is not None and (lane.due <= now or lane.due > now + LONGEST_MAIL_DELAY)
        return is_due and bool(self._of(user_id))
