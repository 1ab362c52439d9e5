"""How long a move may take: what the clock allows, and when the engine must have answered.

A move costs more than its search: the choice, the way to the GUI and back, and on a busy machine
the wait for a processor. The GUI's own clock shows all of that, so it is learnt from one move to
the next (`Lag`) and kept free.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

from milepost.play.protocol import Go

USUAL_MOVES = 30
"""A game goes on for about so many moves; what a clock without a move count is divided by."""
_MOST_OF_THE_CLOCK = 0.35
"""One move never takes more of what is left."""
_LEAST_SECONDS = 0.02
_SHARES = 3.0
"""The engine never takes more than so many even shares: else a slow machine eats up the clock."""
_FORGET = 0.8
"""A lag that is not seen again counts for so much less with each move, down to the usual one."""
_SEEN = 5
"""The usual lag is the median of so many."""
_RESERVE = 2.0
"""So many lags stay on the clock: the next one may be greater."""


_TYPICAL_SECONDS = {"bullet": 0.05, "blitz": 0.15, "quick": 0.5, "standard": 3.0}
"""What a plan takes on a quiet machine of 2026; only the ratios matter for long."""
_FIRST_PACE = 2.0
_PACE_KEPT = 0.7
"""How much of what was known of the pace stays with each move."""


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


@dataclass
class Lag:
    """What a move costs besides the search and the waiting that was meant, in seconds."""

    seconds: float = 0.0
    """What to keep free: the usual lag, or more where it was greater lately."""
    _seen: deque[float] = field(default_factory=lambda: deque(maxlen=_SEEN))
    _answered: tuple[int, float, float] | None = None

    def answered(self, ply: int, allowed: Budget, meant: float) -> None:
        """Remember an answer.

        Parameters
        ----------
        ply
            Of the position.
        allowed
            What its clock allowed.
        meant
            The seconds that search and waiting took.
        """
        known = allowed.left is not None
        self._answered = (ply, (allowed.left or 0.0) + allowed.increment, meant) if known else None

    def learn(self, ply: int, allowed: Budget) -> None:
        """Learn from the clock of the next turn what the last answer cost.

        Every turn brings an old lag nearer to the usual one, also where nothing was searched: a
        machine that stood still once shall not keep the bot from thinking for long.
        """
        answered, self._answered = self._answered, None
        if allowed.left is None:
            return
        self.seconds *= _FORGET
        if answered is not None:
            before, left, meant = answered
            lag = left - allowed.left - meant
            if ply == before + 2 and lag >= 0:  # else another game, or time was added
                self._seen.append(lag)
                self.seconds = max(lag, self.seconds)
        if len(self._seen) > _SEEN // 2:  # else one halt would be the usual
            self.seconds = max(median(self._seen), self.seconds)

    def search_seconds(self, allowed: Budget) -> float | None:
        """Return how long the engine may search; None = no limit, 0 or less = not at all."""
        if allowed.most is None:
            return None
        if allowed.fair is None:  # a fixed time for the move
            return allowed.most
        safe = (allowed.left or 0.0) - _RESERVE * self.seconds
        return min(allowed.most, _SHARES * allowed.fair, safe) - self.seconds


@dataclass
class Pace:
    """How slow this machine is, so how long each plan will take.

    All plans teach one number. So plans that were too slow for a while are tried again when the
    cheap ones are quick again.
    """

    factor: float = _FIRST_PACE
    """In multiples of what the plans typically take."""

    def seconds(self, plan: str) -> float:
        """Return how long a plan will take."""
        return self.factor * _TYPICAL_SECONDS[plan]

    def learn(self, wanted: str, reached: str | None, seconds: float) -> None:
        """Learn from a search: the plan that was wanted, the one that was reached, its time."""
        seen = seconds / _TYPICAL_SECONDS[wanted]
        if reached != wanted:  # all of it would have taken longer
            seen = max(seen, self.factor)
        self.factor = _PACE_KEPT * self.factor + (1 - _PACE_KEPT) * seen
