"""The kind licence:token: what a reservation asks for, and what happens at its start and end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from oslo_config import cfg

from blazar.domain.errors import CantUpdateParameter, MalformedParameter
from blazar.domain.lease.lease import Reservation, ReservationStatus
from blazar.domain.lease.outcome import Done, Outcome
from blazar.domain.planning.demand import Demand
from blazar.domain.requirement.comparison import Operator, term_of
from blazar.domain.requirement.language import Comparison, Requirement
from blazar.domain.resource import Usage
from blazar.kinds.fields import counted, required
from blazar.service.ports import Cloud
from blazar.service.ports.kind import Kind, Measure, Work
from blazar_licences.actuator import GrantFiles
from blazar_licences.extension import LicenceExtension
from blazar_licences.licences import NAME, POOL, TOKEN

PARAMETERS = ("licence", "amount")
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class LicenceParameters:
    """``amount`` tokens of the licence of this name."""

    licence: str
    amount: int


class LicenceKind(Kind[LicenceParameters]):
    """Tokens of licences."""

    resource_type = "licence:token"
    pool = POOL
    extension = LicenceExtension
    quantities = ("licence_tokens",)
    parameters_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "description": "Tokens of a licence.",
        "properties": {
            "licence": {"type": "string", "description": "The name of the licence."},
            "amount": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many tokens."},
        },
        "required": ["licence", "amount"],
    }
    options: ClassVar[Mapping[str, Sequence[cfg.Opt]]] = {
        "licence": (
            cfg.StrOpt("grants", default="/var/lib/blazar/grants", help="Folder of the grant files."),
        )
    }

    def __init__(self, grants: GrantFiles) -> None:
        self._grants = grants

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(GrantFiles(Path(conf.licence.grants)))

    # hooks of the request

    def decode(self, parameters: Mapping[str, Any]) -> LicenceParameters:
        return LicenceParameters(parameters["licence"], parameters["amount"])

    def encode(self, asked: LicenceParameters) -> Mapping[str, Any]:
        return asdict(asked)

    def parse(self, parameters: Mapping[str, Any]) -> LicenceParameters:
        required(parameters, PARAMETERS)
        licence = parameters["licence"]
        if not isinstance(licence, str) or not licence or not licence.isprintable() or len(licence) > 80:
            raise MalformedParameter(param="licence (must be the name of a licence)")
        return LicenceParameters(licence, counted(parameters, "amount", 1, MOST))

    def revise(self, current: Reservation, changes: Mapping[str, Any]) -> LicenceParameters:
        known = {name: value for name, value in changes.items() if name in PARAMETERS}
        old, new = self.asked(current), self.parse({**current.parameters, **known})
        if new.licence != old.licence:
            raise CantUpdateParameter(param="licence")
        if current.status is ReservationStatus.ACTIVE and new.amount < old.amount:
            raise CantUpdateParameter(param=f"amount of an active reservation to fewer than {old.amount}")
        return new

    def render(self, reservation: Reservation) -> dict[str, Any]:
        return dict(self.encode(self.asked(reservation)))

    def counted(self, reservation: Reservation) -> Mapping[str, int]:
        return {"licence_tokens": self.asked(reservation).amount}

    def measures(self, resource_classes: Collection[str]) -> Sequence[Measure]:
        return (Measure("licence_tokens", TOKEN),)

    def demand(self, reservation: Reservation) -> Demand:
        asked = self.asked(reservation)
        return Demand(
            reservation_id=reservation.id,
            minimum=asked.amount,
            maximum=asked.amount,
            usage=Usage({TOKEN: 1}),
            requirement=Requirement(Comparison(NAME, Operator.EQUAL, (term_of(asked.licence),))),
            current=reservation.allocations,
            keep_current=reservation.status is ReservationStatus.ACTIVE,
            plural="licence tokens",
        )

    # verbs of events

    def activate(self, work: Work, cloud: Cloud) -> Outcome:
        self._grants.grant(work)
        return Done({"granted": True})  # so that a deletion knows that there is something to revoke

    def before_end(self, work: Work, cloud: Cloud) -> Outcome:
        return Done()

    def deactivate(self, work: Work, cloud: Cloud) -> Outcome:
        self._grants.revoke(work)
        return Done()
