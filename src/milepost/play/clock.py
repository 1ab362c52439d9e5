"""How long a move may take: what the clock allows, and when the engine must have answered."""

from __future__ import annotations

from dataclasses import dataclass

from milepost.play.protocol import Go

USUAL_MOVES = 30
"""A game goes on for about so many moves; what a clock without a move count is divided by."""
_MOST_OF_THE_CLOCK = 0.35
"""One move never takes more of what is left."""
_LEAST_SECONDS = 0.02


@dataclass(frozen=True)
class Budget:
    """What one move may take, in seconds."""

    left: float | None
    """On the clock; None = there is no clock."""
    increment: float
    """What every move adds."""
    fair: float | None
    """An even share of the clock; None = there is none."""
    most: float | None
    """By then a move must be out, whatever happens; None = no limit."""


def budget(go: Go, *, white: bool, overhead_ms: int) -> Budget:
    """Return what a ``go`` allows the side to move."""
    numbers = go.numbers
    if "movetime" in numbers:
        seconds = max(numbers["movetime"] - overhead_ms, 0) / 1000
        return Budget(None, 0.0, None, max(seconds, _LEAST_SECONDS))
    side = "w" if white else "b"
    if f"{side}time" not in numbers:
        return Budget(None, 0.0, None, None)
    left = max(numbers[f"{side}time"] - overhead_ms, 0) / 1000
    increment = max(numbers.get(f"{side}inc", 0), 0) / 1000
    moves = numbers.get("movestogo", 0)
    share = left / (min(moves, USUAL_MOVES) if moves > 0 else USUAL_MOVES)
    fair = share + 0.8 * increment
    most = max(min(left * _MOST_OF_THE_CLOCK + 0.5 * increment, left * 0.8), _LEAST_SECONDS)
    return Budget(left, increment, min(fair, most), most)
