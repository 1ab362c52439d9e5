"""The bot's clock: how time is shared out, what a lag is learnt from, and the guard of the flag."""

from __future__ import annotations

import pytest

from milepost.play.clock import Budget, Lag, Pace, budget
from milepost.play.guard import guard, last_moment
from milepost.play.jobs import Job
from milepost.play.options import declare
from milepost.play.protocol import Position, read_go

MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"


def job(text: str, **options: str) -> Job:
    """A search of the middlegame position."""
    values = {name: option.default for name, option in declare({}).items()} | options
    return Job(Position(MIDDLEGAME), read_go(text.split()), values, lambda _: None, began=100.0)


def test_the_guard_waits_longer_for_a_worker_that_thinks() -> None:
    clock = Budget(10.0, 0.1, 0.4, 3.5)
    asked = job("wtime 10050 winc 100")
    assert last_moment(asked, clock) == pytest.approx(103.5)
    asked.thinking.set()
    assert last_moment(asked, clock) == pytest.approx(106.75)
    fixed = Budget(None, 0.0, None, 0.45)
    asked = job("movetime 500")
    assert last_moment(asked, fixed) == pytest.approx(100.45)
    asked.thinking.set()
    assert last_moment(asked, fixed) == pytest.approx(101.45)
    pondering = job("ponder wtime 10050")
    assert last_moment(pondering, clock) is None
    pondering.hit.set()
    assert last_moment(pondering, clock) == pytest.approx(103.5)
    asked = job("infinite")
    assert last_moment(asked, Budget(None, 0.0, None, None)) is None
    asked.end()
    assert asked.stopped is not None
    assert last_moment(asked, Budget(None, 0.0, None, None)) == asked.stopped + 1.0


def test_a_worker_that_hangs_is_answered_for_and_only_once() -> None:
    said: list[str] = []
    hanging = job("wtime 200 btime 200")
    hanging.say = said.append
    hanging.thinking.set()
    hanging.move = "a2a3"
    guard(hanging)
    assert said == ["bestmove a2a3"]
    assert hanging.stop.is_set()
    assert not hanging.answer("bestmove h2h3")
    hanging.tell("info depth 3")
    assert said == ["bestmove a2a3"]


@pytest.mark.parametrize(
    ("position", "white"),
    [
        (Position(), True),
        (Position(None, ("e2e4",)), False),
        (Position("8/8/8/8/8/8/8/K1k5 b - - 0 1"), False),
        (Position("8/8/8/8/8/8/8/K1k5 b - - 0 1", ("c1d1",)), True),
        (Position("nonsense"), True),
    ],
)
def test_whose_clock_it_is(position: Position, white: bool) -> None:
    assert position.white is white


@pytest.mark.parametrize(
    ("text", "fair", "most"),
    [
        ("wtime 60000 btime 1", 2.0, 21.0),
        ("wtime 60000 winc 1000 movestogo 10", 6.8, 21.5),
        ("wtime 100 btime 100", 0.0, 0.02),
        ("movetime 500", None, 0.45),
        ("wtime -50", 0.0, 0.02),
        ("depth 3", None, None),
    ],
)
def test_the_clock_is_shared_out(text: str, fair: float | None, most: float | None) -> None:
    allowed = budget(read_go(text.split()), white=True, overhead_ms=50)
    assert allowed.fair == (None if fair is None else pytest.approx(fair, abs=0.01))
    assert allowed.most == (None if most is None else pytest.approx(most, abs=0.05))
    if allowed.left is not None and allowed.left > 0.1:
        assert allowed.most is not None
        assert allowed.most < allowed.left


def test_the_lag_is_learnt_from_the_clock_of_the_gui() -> None:
    """A machine so slow that a bullet search and its answer cost 0.6 s at 10+0.1: no flag falls."""
    lag, left = Lag(), 10.0
    for ply in range(16, 400, 2):
        allowed = budget(
            read_go(f"wtime {round(1000 * left)} winc 100".split()), white=True, overhead_ms=50
        )
        lag.learn(ply, allowed)
        seconds = lag.search_seconds(allowed)
        assert seconds is not None
        search = min(0.35, seconds) if seconds > 0.03 else 0.0
        spent = search + (0.25 if search else 0.08)  # without a search there is little to do
        if search:
            lag.answered(ply, allowed, search)
        left -= spent
        assert left > 0.1, f"half-move {ply}"
        left += 0.1
    assert lag.seconds == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("before", [(), (10, 12, 14)])
def test_a_single_halt_is_soon_forgotten(before: tuple[int, ...]) -> None:
    lag, allowed = Lag(), Budget(4.0, 0.1, 0.21, 1.4)
    for ply in before:  # usually it is 0.05 s
        lag.answered(ply, Budget(4.05, 0.1, 0.2, 1.4), 0.1)
        lag.learn(ply + 2, allowed)
    lag.answered(20, Budget(6.0, 0.1, 0.28, 2.1), 0.1)
    lag.learn(22, allowed)
    assert lag.seconds == pytest.approx(2.0)
    waits = 0
    while (seconds := lag.search_seconds(allowed)) is not None and seconds < 0.1:
        lag.learn(24 + 2 * waits, allowed)
        waits += 1
    assert 1 <= waits <= 8


def test_a_plan_that_was_too_slow_for_a_while_is_tried_again() -> None:
    pace = Pace()
    first = pace.seconds("blitz")
    for _ in range(10):  # blitz is stopped after 0.8 s; only bullet was reached
        pace.learn("blitz", "bullet", 0.8)
    slow = pace.seconds("blitz")
    assert slow > 2 * first
    pace.learn("blitz", "bullet", 0.01)
    assert pace.seconds("blitz") == pytest.approx(slow), "a search that was cut off proves no haste"
    for _ in range(10):
        pace.learn("bullet", "bullet", 0.05)
    assert pace.seconds("blitz") < first
    assert pace.seconds("bullet") < pace.seconds("blitz") < pace.seconds("quick")


def test_another_game_or_added_time_teaches_no_lag() -> None:
    lag = Lag()
    lag.answered(20, Budget(10.0, 0.0, 0.3, 3.0), 0.2)
    lag.learn(2, Budget(3.0, 0.0, 0.1, 1.0))
    lag.answered(20, Budget(10.0, 0.0, 0.3, 3.0), 0.2)
    lag.learn(22, Budget(30.0, 0.0, 1.0, 10.0))
    assert lag.seconds == 0.0
    assert lag.search_seconds(Budget(None, 0.0, None, None)) is None
    assert lag.search_seconds(Budget(None, 0.0, None, 0.45)) == 0.45
