"""A reservation's parameters in their typed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from blazar.domain.lease.lease import Reservation

RESERVATION = Reservation("r", "l", "x", "example", {"amount": 3})


class Decoder:
    def __init__(self) -> None:
        self.calls: list[Mapping[str, Any]] = []

    def __call__(self, parameters: Mapping[str, Any]) -> int:
        self.calls.append(parameters)
        return int(parameters["amount"])


def test_parameters_are_decoded_once() -> None:
    decode, reservation = Decoder(), replace(RESERVATION)
    assert [reservation.decoded(decode) for _ in range(3)] == [3, 3, 3]
    assert decode.calls == [{"amount": 3}]


def test_other_parameters_are_decoded_anew() -> None:
    decode = Decoder()
    assert RESERVATION.decoded(decode) == 3
    assert replace(RESERVATION, parameters={"amount": 4}).decoded(decode) == 4


def test_the_typed_form_is_neither_compared_nor_sent() -> None:
    plain, decoded = replace(RESERVATION), replace(RESERVATION)
    decoded.decoded(Decoder())
    assert plain == decoded
    assert repr(plain) == repr(decoded)
    adapter = TypeAdapter(Reservation)
    assert adapter.dump_json(decoded) == adapter.dump_json(plain)
    assert adapter.validate_python(adapter.dump_python(decoded)).decoded(Decoder()) == 3
