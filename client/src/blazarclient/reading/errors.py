"""How does a misunderstanding reach the user?"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class NotUnderstood(Exception):
    """What was typed cannot be meant. Nothing was sent to the service. The text says what to type instead."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    matches = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown(noun: str, word: str, known: Iterable[str], where: str = "") -> NotUnderstood:
    """The refusal of a word that is not among the known ones; `where` says, after it, of what they are known."""
    known = list(known)
    guess = nearest(word, known)
    hint = f"did you mean '{guess}'? " if guess else ""
    return NotUnderstood(f"unknown {noun} '{word}'{where}: {hint}known are {', '.join(known)}")
