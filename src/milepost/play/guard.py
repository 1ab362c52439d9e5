"""The guard of the clock: a legal move is out before the flag falls, whatever the worker does.

It runs in a thread of its own beside every search. The worker may still be loading (the first
``go`` may come straight after ``uciok``), or stand still on a machine that has no time for it. Then
the guard plays what the worker has chosen, or a move of the book, or one at a glance. Nothing heavy
is imported here.
"""

from __future__ import annotations

import random
import time

from milepost.play.clock import Budget, budget
from milepost.play.jobs import Job

_LOOK_SECONDS = 0.02
_STOP_SECONDS = 1.0
"""How long a ``stop`` may wait for a worker that has not begun."""
_LATE_SECONDS = 1.0
"""How much later than asked a move of fixed time may be, before the guard answers."""


def last_moment(job: Job, allowed: Budget) -> float | None:
    """Return when the guard answers; None = not yet known, or never.

    A worker that has not begun may take what one move may take. One that thinks keeps to that by
    itself, and knows better: it has until halfway from there to the fall of the flag.
    """
    if job.waits:
        return None
    begun = job.thinking.is_set()
    moments = []
    if allowed.most is not None and job.clocked:
        late = 0.0
        if begun:
            left = allowed.left
            late = _LATE_SECONDS if left is None else max(left - allowed.most, 0.0) / 2
        moments.append(job.began + allowed.most + late)
    if job.stopped is not None and not begun:
        moments.append(job.stopped + _STOP_SECONDS)
    return min(moments, default=None)


def guard(job: Job) -> None:
    """Wait for the answer of a search; give one if it would come too late."""
    allowed = budget(
        job.go, white=job.position.white, overhead_ms=int(job.options["Move Overhead"])
    )
    while not job.over.is_set():
        moment, now = last_moment(job, allowed), time.monotonic()
        if moment is not None and now >= moment:
            _answer(job)
            return
        settled = job.thinking.is_set() and not job.waits
        if settled and moment is None:
            return  # there is no clock, and the worker has it in hand
        job.over.wait(moment - now if settled and moment is not None else _LOOK_SECONDS)


def _answer(job: Job) -> None:
    """Answer in place of the worker, and tell it to end."""
    chosen = job.move
    if chosen is not None:
        job.answer(f"bestmove {chosen}")
    else:
        why = "out of time" if job.thinking.is_set() else "not loaded yet"
        move, source = quick_move(job)
        job.answer(f"info string {why}: {source}, no Elo claimed", f"bestmove {move}")
    job.stop.set()


def quick_move(job: Job) -> tuple[str, str]:
    """Return a legal move that needs no engine, as UCI has it, and where it is from."""
    from milepost.games.glance import glance
    from milepost.play.boards import board_of, book_moves

    board, _ = board_of(job.position)
    seed = int(job.options["Seed"])
    chance = random.Random(f"{seed} {board.fen()}") if seed >= 0 else random.Random()
    seen = glance(board)
    if not seen:
        return "(none)", "the game is over"
    asked = [(move, weight) for move, weight in seen if move.uci() in job.go.searchmoves]
    known = [] if asked else book_moves(job.options, board)
    moves, weights = zip(*(asked or known or seen), strict=True)
    source = "a book move" if known else "a move at a glance"
    return chance.choices(moves, weights)[0].uci(), source
