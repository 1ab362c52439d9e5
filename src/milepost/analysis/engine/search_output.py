"""What an engine printed during a search, as the value of every move at every depth.

The rules: the last value printed for a depth and a move counts (after three seconds Stockfish
prints all lines again at every change); a line with ``lowerbound`` or ``upperbound`` is no value; a
line is told by the first move of its ``pv``, not by its number. Mates stay mates. The point of view
is the mover's, as in UCI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from milepost.errors import EngineAnswerError

# Stockfish's order of words; a line in any other order is taken apart word by word.
_USUAL = re.compile(
    rb"^info depth (\d{1,3}) seldepth \d+ multipv (\d{1,3}) score (cp|mate) (-?\d{1,4})"
    rb"( lowerbound| upperbound)? nodes (\d{1,18}) [^\n]*? pv ([a-h][1-8][a-h][1-8][qrbn]?)(?!\S)"
)
# What the store's columns hold; no engine means more.
_MOST = {b"cp": 2**31 - 1, b"mate": 2**15 - 1, b"depth": 999, b"nodes": 2**63 - 1}
_MOVE = re.compile(rb"^(?:[a-h][1-8][a-h][1-8][qrbnk]?|0000|\(none\)|NULL)$")

MATE_CP = 30_000
"""A mate in n is worth this less n centipawns, wherever mates and centipawns share one scale."""
LONGEST_MATE = 999
"""Longer mates count as this long, so that every mate stands above every other value."""
LEAST_MATE_CP = MATE_CP - LONGEST_MATE - 1
"""What is more than this is a mate; other values lie below, as a tablebase win's 20,000 does."""


@dataclass(frozen=True)
class Value:
    """The worth of a move for the mover: centipawns or a mate, never both."""

    cp: int | None
    """Centipawns."""
    mate: int | None
    """Mate in so many moves; negative if the mover is mated."""

    @property
    def order(self) -> tuple[int, int]:
        """Greater is better: quick mates, slow mates, centipawns, slow losses, quick losses."""
        if self.mate is None:
            return 0, self.cp or 0
        return (1, -self.mate) if self.mate > 0 else (-1, -self.mate)

    @property
    def cents(self) -> int:
        """The value on one scale: centipawns, a mate in n as ±(`MATE_CP` - n)."""
        if self.mate is None:
            return max(-LEAST_MATE_CP, min(self.cp or 0, LEAST_MATE_CP))
        size = MATE_CP - min(abs(self.mate), LONGEST_MATE)
        return size if self.mate > 0 else -size

    @classmethod
    def of_cents(cls, cents: int) -> Value:
        """Return the value that has these `cents`."""
        if abs(cents) <= LEAST_MATE_CP:
            return cls(cents, None)
        moves = MATE_CP - abs(cents)
        return cls(None, moves if cents > 0 else -moves)


@dataclass(frozen=True)
class SearchLog:
    """The values that one search gave."""

    values: dict[tuple[int, str], Value]
    """By depth and move."""
    ranks: dict[tuple[int, str], int]
    """The engine's own order of the moves at each depth, from 1."""
    best: str | None
    """The move that it would play; `None` if there is none."""
    nodes: int
    """Nodes searched."""

    @property
    def depth(self) -> int:
        """The greatest depth reached."""
        return max((depth for depth, _ in self.values), default=0)

    def moves_at(self, depth: int) -> list[str]:
        """Return the moves with a value at a depth, best first, the engine's order in ties."""
        moves = [move for at, move in self.values if at == depth]
        return sorted(moves, key=lambda move: self._place(depth, move))

    def _place(self, depth: int, move: str) -> tuple[int, int, int]:
        kind, worth = self.values[depth, move].order
        return -kind, -worth, self.ranks[depth, move]


def parse_search(output: bytes) -> SearchLog:
    """Read what an engine printed, up to its bestmove.

    Raises
    ------
    EngineAnswerError
        If there is no bestmove, or a line cannot be what it claims to be.
    """
    values: dict[tuple[int, str], Value] = {}
    ranks: dict[tuple[int, str], int] = {}
    nodes = 0
    best: str | None = None
    ended = False
    for line in output.split(b"\n"):
        if line.startswith(b"info "):
            found = _read_info(line)
            if found is None:
                continue
            depth, rank, value, seen, move = found
            values[depth, move] = value
            ranks[depth, move] = rank
            nodes = max(nodes, seen)
        elif line.startswith(b"bestmove"):
            words = line.split()
            if len(words) < 2 or not _MOVE.match(words[1]):
                raise EngineAnswerError(f"no move behind bestmove: {line[:60]!r}")
            ended = True
            best = None if words[1] in (b"(none)", b"0000", b"NULL") else words[1].decode()
    if not ended:
        raise EngineAnswerError("the output has no bestmove")
    return SearchLog(values, ranks, best, nodes)


def _read_info(line: bytes) -> tuple[int, int, Value, int, str] | None:
    """Return depth, rank, value, nodes and move of an info line; `None` if it gives no value."""
    usual = _USUAL.match(line)
    if usual is None:
        return _read_info_by_words(line)
    depth, rank, kind, number, bound, nodes, move = usual.groups()
    if bound:
        return None
    value = Value(int(number), None) if kind == b"cp" else Value(None, int(number))
    return int(depth), int(rank), value, int(nodes), move.decode()


def _read_info_by_words(line: bytes) -> tuple[int, int, Value, int, str] | None:
    words = line.split()
    if b"string" in words:  # what follows is for people
        words = words[: words.index(b"string")]
    if b"lowerbound" in words or b"upperbound" in words:
        return None
    if any(word not in words for word in (b"depth", b"score", b"pv")):
        return None
    try:
        depth = int(words[words.index(b"depth") + 1])
        rank = int(words[words.index(b"multipv") + 1]) if b"multipv" in words else 1
        nodes = int(words[words.index(b"nodes") + 1]) if b"nodes" in words else 0
        at = words.index(b"score")
        number = int(words[at + 2])
        move = words[words.index(b"pv") + 1]
    except (ValueError, IndexError) as error:
        raise EngineAnswerError(f"a line that makes no sense: {line[:80]!r}") from error
    kind = words[at + 1]
    sensible = kind in (b"cp", b"mate") and abs(number) <= _MOST[kind]
    sensible = sensible and 0 <= depth <= _MOST[b"depth"] and 0 <= nodes <= _MOST[b"nodes"]
    if not sensible or not _MOVE.match(move):
        raise EngineAnswerError(f"a line that makes no sense: {line[:80]!r}")
    value = Value(number, None) if kind == b"cp" else Value(None, number)
    return depth, rank, value, nodes, move.decode()
