"""One game of any number of sides, each of any number of players, as the caller writes it down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Real
from typing import Any, TypeAlias

from milepost.errors import InputError

GameTime: TypeAlias = float | date | None
"""A number on any scale, a date, or `None` for a game without a time."""


@dataclass(frozen=True)
class Game:
    """One game: who played on which side, how each side scored, and when.

    The sides are compared by their scores: the higher score is the better place, equal scores are
    a tie. Only the order of the scores counts, never their distance.

    Raises
    ------
    InputError
        If there are fewer than two sides, a side is empty, a player stands in the game twice, a
        score is missing or not finite, the weights do not have the shape of the teams, a weight is
        negative or not finite, or every weight of a side is zero.

    Examples
    --------
    >>> Game(1974, teams=[["ann", "bob"], ["cid"]], scores=[1, 0]).players
    ('ann', 'bob', 'cid')
    """

    time: GameTime
    """When it was played: a number on any scale, a date, or `None` if no game has a time."""
    teams: Sequence[Sequence[str]]
    """The names of the players of each side; kept as a tuple of tuples."""
    scores: Sequence[float]
    """The score of each side, higher is better, equal is a tie; kept as a tuple."""
    weights: Sequence[Sequence[float]] | None = None
    """The share of the game that each player took part in (1 = all of it); `None` = all of it."""

    def __post_init__(self) -> None:
        """Check everything once, and freeze the sequences."""
        object.__setattr__(self, "time", _checked_time(self.time))
        object.__setattr__(self, "teams", _checked_teams(self.teams))
        scores = _numbers(self.scores, "the scores")
        if len(scores) != len(self.teams):
            raise InputError(
                f"expected one score for each of the {len(self.teams)} teams, got {len(scores)}"
            )
        object.__setattr__(self, "scores", scores)
        if self.weights is not None:
            sizes = [len(team) for team in self.teams]
            object.__setattr__(self, "weights", checked_weights(self.weights, sizes))

    @property
    def players(self) -> tuple[str, ...]:
        """The names of all players, side by side in the order given."""
        return tuple(name for team in self.teams for name in team)


def checked_weights(
    weights: Sequence[Sequence[float]], sizes: Sequence[int]
) -> tuple[tuple[float, ...], ...]:
    """Return partial play weights as tuples, or say what is wrong with them.

    Parameters
    ----------
    weights
        A weight for every player of every side: finite, zero or positive.
    sizes
        How many players each side has.

    Raises
    ------
    InputError
        If the shape differs, a weight is negative or not finite, or a side has no positive weight
        (it would have taken no part in the game).
    """
    checked = tuple(_numbers(side, "the weights of a team") for side in _items(weights, "weights"))
    shape = [len(side) for side in checked]
    if shape != list(sizes):
        raise InputError(f"expected weights for teams of {list(sizes)} players, got {shape}")
    for side in checked:
        if min(side) < 0.0:
            raise InputError(f"expected weights of zero or more, got {min(side)}")
        if max(side) == 0.0:
            raise InputError("expected a positive weight in every team, got a team with zeros only")
    return checked


def _checked_time(time: Any) -> GameTime:
    if time is None or (isinstance(time, date) and not isinstance(time, datetime)):
        return time
    # A moment of the day is finer than any period we rate by; its date is what counts.
    if isinstance(time, datetime):
        return time.date()
    if isinstance(time, Real) and not isinstance(time, bool) and math.isfinite(float(time)):
        return time if isinstance(time, int | float) else float(time)
    raise InputError(f"expected a finite number, a date or None as the time, got {time!r}")


def _checked_teams(teams: Any) -> tuple[tuple[str, ...], ...]:
    checked = tuple(tuple(_items(team, "a team")) for team in _items(teams, "the teams"))
    if len(checked) < 2:
        raise InputError(f"expected at least two teams, got {len(checked)}")
    seen: set[str] = set()
    for team in checked:
        if not team:
            raise InputError("expected at least one player in every team, got an empty team")
        for name in team:
            if not isinstance(name, str):
                raise InputError(f"expected the players' names, got {name!r}")
            if name in seen:
                raise InputError(f"expected every player once in a game, got {name!r} twice")
            seen.add(name)
    return checked


def _items(values: Any, what: str) -> list[Any]:
    # A string is a sequence of letters: teams=["ann", "bob"] would otherwise rate a, b, n, o.
    if isinstance(values, str):
        raise InputError(f"expected a sequence as {what}, got the text {values!r}")
    try:
        return list(values)
    except TypeError as error:
        raise InputError(f"expected a sequence as {what}, got {values!r}") from error


def _numbers(values: Any, what: str) -> tuple[float, ...]:
    items = _items(values, what)
    try:
        numbers = tuple(float(item) for item in items)
    except (TypeError, ValueError) as error:
        raise InputError(f"expected numbers as {what}, got {items!r}") from error
    if not all(math.isfinite(number) for number in numbers):
        raise InputError(f"expected finite numbers as {what}, got {items!r}")
    return numbers
