"""A game as the caller writes it: what is taken, what is refused, and how it is said."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from milepost.errors import InputError
from milepost.history.teams.game import Game


def test_sequences_are_frozen() -> None:
    teams = [["ann", "bob"], ["cid"]]
    game = Game(1974, teams, [2, 0], [[1, 0.5], [1]])
    teams[0].append("dan")
    assert game.teams == (("ann", "bob"), ("cid",))
    assert game.scores == (2.0, 0.0)
    assert game.weights == ((1.0, 0.5), (1.0,))
    assert game.players == ("ann", "bob", "cid")
    assert hash(game) == hash(Game(1974, game.teams, game.scores, game.weights))


def test_times_of_every_kind() -> None:
    two = [["a"], ["b"]]
    assert Game(None, two, [1, 0]).time is None
    number: Any = np.int64(3)
    assert Game(number, two, [1, 0]).time == 3.0
    assert Game(date(1972, 7, 11), two, [1, 0]).time == date(1972, 7, 11)
    assert Game(datetime(1972, 7, 11, 17, tzinfo=UTC), two, [1, 0]).time == date(1972, 7, 11)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1, [["a"]], [1]), "at least two teams"),
        ((1, [["a"], []], [1, 0]), "empty team"),
        ((1, [["a"], ["a"]], [1, 0]), "'a' twice"),
        ((1, [["a", "a"], ["b"]], [1, 0]), "'a' twice"),
        ((1, ["ann", "bob"], [1, 0]), "got the text 'ann'"),
        ((1, "ab", [1, 0]), "got the text 'ab'"),
        ((1, [["a"], [2]], [1, 0]), "names, got 2"),
        ((1, [["a"], 5], [1, 0]), "sequence as a team"),
        ((1, [["a"], ["b"]], [1]), "one score for each of the 2 teams, got 1"),
        ((1, [["a"], ["b"]], [1, float("nan")]), "finite numbers as the scores"),
        ((1, [["a"], ["b"]], [1, "x"]), "numbers as the scores"),
        ((1, [["a"], ["b"]], [1, 0], [[1], [1, 1]]), r"\[1, 1\] players, got \[1, 2\]"),
        ((1, [["a"], ["b"]], [1, 0], [[1], [-1]]), "zero or more, got -1"),
        ((1, [["a"], ["b"]], [1, 0], [[1], [float("inf")]]), "finite numbers as the weights"),
        ((1, [["a"], ["b"]], [1, 0], [[1], [0]]), "zeros only"),
        ((float("inf"), [["a"], ["b"]], [1, 0]), "as the time, got inf"),
        (("1972", [["a"], ["b"]], [1, 0]), "as the time, got '1972'"),
        ((True, [["a"], ["b"]], [1, 0]), "as the time, got True"),
    ],
)
def test_mistakes_are_named(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Game(*arguments)
    assert issubclass(InputError, ValueError)
