"""The generation of each resource, by index."""

from __future__ import annotations

_CHUNK_BITS = 8
_CHUNK = 1 << _CHUNK_BITS


class Generations:
    """Integers by index, in chunks, so that a snapshot copies a short list and a write at most one chunk."""

    def __init__(self) -> None:
        self._chunks: list[list[int]] = []
        self._own: set[int] = set()
        """The chunks that no snapshot shares."""

    def snapshot(self) -> Generations:
        """Return what stands here now; later writes do not change it."""
        taken = Generations()
        taken._chunks = self._chunks.copy()
        self._own.clear()
        return taken

    def __getitem__(self, index: int) -> int:
        return self._chunks[index >> _CHUNK_BITS][index & (_CHUNK - 1)]

    def __setitem__(self, index: int, generation: int) -> None:
        number = index >> _CHUNK_BITS
        while number >= len(self._chunks):
            self._own.add(len(self._chunks))
            self._chunks.append([0] * _CHUNK)
        if number not in self._own:
            self._own.add(number)
            self._chunks[number] = self._chunks[number].copy()
        self._chunks[number][index & (_CHUNK - 1)] = generation
