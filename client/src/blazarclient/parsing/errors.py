"""The error for invalid input, with suggestions of what the user probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InvalidInput(Exception):
    """Invalid options, arguments or files. No request was sent. The text says what to type instead."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most similar, or None when none is similar."""
    matches = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_word(noun: str, word: str, known: Iterable[str], where: str = "") -> InvalidInput:
    """Return the error for an unknown word, with the known words and the nearest of them.

    `noun` says what the word names; `where` is appended to the word, for example `` of physical:host``.
    """
    known = list(known)
    guess = nearest(word, known)
    hint = f"did you mean '{guess}'? " if guess else ""
    return InvalidInput(f"unknown {noun} '{word}'{where}: {hint}known are {', '.join(known)}")
