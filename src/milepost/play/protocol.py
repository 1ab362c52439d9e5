"""The lines of UCI, taken apart: ``setoption``, ``position`` and ``go``.

Whatever a GUI sends, nothing here raises: what cannot be read is left out, as UCI wants it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_NUMBERS = {
    "wtime", "btime", "winc", "binc", "movestogo", "movetime", "depth", "nodes", "mate",
}  # fmt: skip
_WORDS = {"infinite", "ponder"}
_GO = _NUMBERS | _WORDS | {"searchmoves"}


@dataclass(frozen=True)
class Go:
    """What a ``go`` asks for; times in milliseconds."""

    numbers: dict[str, int] = field(default_factory=dict)
    """wtime, btime, winc, binc, movestogo, movetime, depth, nodes, mate, as far as given."""
    infinite: bool = False
    """Until ``stop``."""
    ponder: bool = False
    """Until ``ponderhit`` or ``stop``."""
    searchmoves: tuple[str, ...] = ()
    """Only these moves."""
    strange: tuple[str, ...] = ()
    """Words that are not known, and limits without a number."""


@dataclass(frozen=True)
class Position:
    """What a ``position`` says."""

    fen: str | None = None
    """The first position; None = the usual one."""
    moves: tuple[str, ...] = ()
    """What was played from there."""

    @property
    def white(self) -> bool:
        """Whether White is to move, if all of it is legal."""
        fields = (self.fen or "").split()
        begins = len(fields) < 2 or fields[1] != "b"
        return begins == (len(self.moves) % 2 == 0)


def read_option(words: list[str]) -> tuple[str, str] | None:
    """Return name and value of ``setoption name NAME value VALUE``; None = it is none."""
    if not words or words[0].lower() != "name":
        return None
    lower = [word.lower() for word in words]
    at = lower.index("value") if "value" in lower else len(words)
    name = " ".join(words[1:at])
    return (name, " ".join(words[at + 1 :])) if name else None


def read_position(words: list[str]) -> Position | None:
    """Return what stands behind ``position``; None = it is none."""
    if not words:
        return None
    at = words.index("moves") if "moves" in words else len(words)
    moves = tuple(words[at + 1 :])
    if words[0] == "startpos":
        return Position(None, moves)
    if words[0] != "fen" or at < 2:
        return None
    return Position(" ".join(words[1:at]), moves)


def read_go(words: list[str]) -> Go:
    """Return what stands behind ``go``; what is not known is left out."""
    numbers: dict[str, int] = {}
    flags: set[str] = set()
    moves: list[str] = []
    strange: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in _WORDS:
            flags.add(word)
        elif word == "searchmoves":
            while rest and rest[0] not in _GO:
                moves.append(rest.pop(0))
        elif word in _NUMBERS and rest and (number := _whole(rest[0])) is not None:
            rest.pop(0)
            numbers[word] = max(min(number, 10**12), -(10**12))
        else:
            strange.append(word)
    return Go(numbers, "infinite" in flags, "ponder" in flags, tuple(moves), tuple(strange))


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
