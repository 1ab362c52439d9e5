"""Evaluate a position in time: by the plan that was wanted, or by a cheaper one that was reached.

A search of all moves to depth 10 is, on its way, one to depth 6. So a search that has to stop
leaves the evaluation of a cheaper plan behind, which has a calibration of its own. An engine that
dies is started anew once, if there is time; what it had printed counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import chess

from milepost.analysis.engine.search_output import SearchLog, parse_search
from milepost.analysis.engine.stoppable import StoppableEngine
from milepost.analysis.plans import (
    ALL_MOVES,
    Evaluation,
    Plan,
    evaluate_standard,
    first_depths,
)
from milepost.analysis.store.positions import stored_position
from milepost.errors import EngineAnswerError, EngineError

START_SECONDS = 1.5
"""With less time left a dead engine is not started anew."""


@dataclass(frozen=True)
class InTime:
    """What was found in time."""

    plan: Plan | None
    """The plan that was carried out; None = not even the cheapest one was."""
    evaluation: Evaluation
    """Of the depths of that plan; without a plan, of the greatest depth that was reached."""
    seconds: float
    """How long it took."""


class _Stopped(Exception):  # noqa: N818 - no error
    """A search ended before its limit."""

    def __init__(self, log: SearchLog):
        self.log = log


class TimedEvaluator:
    """An engine that evaluates positions within time limits; use it in a ``with`` statement."""

    def __init__(self, program: str | Path, options: Mapping[str, str]):
        """Prepare the engine; it is started by `start`, or by the first position.

        Parameters
        ----------
        program
            The engine's program.
        options
            The UCI options of its set-up; the number of lines follows the plan.
        """
        self.program = program
        self.options = dict(options)
        self._engine: StoppableEngine | None = None
        self._closed = False

    def start(self) -> None:
        """Start the engine, unless it runs.

        Raises
        ------
        EngineError
            If it does not start, or does not take its options.
        """
        if self._engine is not None and self._engine.alive:
            return
        if self._engine is not None:
            self._engine.close()
        self._engine = None
        engine = StoppableEngine(self.program)
        try:
            engine.configure(self.options)
        except BaseException:
            engine.close()
            raise
        self._engine = engine

    @property
    def process_id(self) -> int | None:
        """The engine's process; None = there is none."""
        return None if self._engine is None else self._engine.process_id

    def evaluate(
        self,
        fen: str,
        plans: Sequence[Plan],
        *,
        deadline: float | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> InTime:
        """Evaluate a position by the first of some plans, or by the dearest that was reached.

        Parameters
        ----------
        fen
            The position; it must have a legal move.
        plans
            The plan that is wanted, and the cheaper ones that will do.
        deadline
            By `time.monotonic`; None = as long as it takes.
        stopped
            Asked again and again whether the search shall end.

        Returns
        -------
        InTime
            If the engine cannot even be started, with an evaluation without moves.
        """
        begun = time.monotonic()
        found = self._try(fen, plans, deadline, stopped)
        dead = self._engine is None or not self._engine.alive
        if found.plan is None and dead and not self._closed:
            left = None if deadline is None else deadline - time.monotonic()
            if left is None or left > START_SECONDS:
                again = self._try(fen, plans, deadline, stopped)
                if again.evaluation.moves:
                    found = again
        return InTime(found.plan, found.evaluation, time.monotonic() - begun)

    def _try(
        self,
        fen: str,
        plans: Sequence[Plan],
        deadline: float | None,
        stopped: Callable[[], bool] | None,
    ) -> InTime:
        begun = time.monotonic()
        wanted = plans[0]
        legal = {move.uci() for move in chess.Board(fen).legal_moves}
        whole = Evaluation((), {}, {}, 0)
        try:
            self.start()
        except EngineError:
            return InTime(None, whole, time.monotonic() - begun)
        first: list[SearchLog] = []

        def search(depth: int, width: int, only: tuple[str, ...] = ()) -> SearchLog:
            assert self._engine is not None
            if wanted.name == "standard":
                lines = min(width, self._engine.most_lines)
                self._engine.configure({"MultiPV": str(lines)})
            printed = self._engine.search_until(
                stored_position(fen), f"depth {depth}", moves=only, deadline=deadline,
                stopped=stopped,
            )  # fmt: skip
            log = parse_search(printed.output)
            first.append(log)
            asked = set(only) or legal
            if not printed.whole or set(log.moves_at(depth)) != asked:
                raise _Stopped(log)
            return log

        try:
            if wanted.name == "standard":
                return InTime(wanted, evaluate_standard(search, wanted), time.monotonic() - begun)
            log = search(wanted.depth, wanted.width)
            return InTime(wanted, first_depths(log, wanted.depth), time.monotonic() - begun)
        except (_Stopped, EngineError, EngineAnswerError):
            pass
        finally:
            self._restore_lines(wanted)
        if not first:
            return InTime(None, whole, time.monotonic() - begun)
        reached = first[0]
        for plan in plans:  # the one wanted too: it may have been told to stop when it was through
            if plan.width == ALL_MOVES and set(reached.moves_at(plan.depth)) == legal:
                evaluation = first_depths(reached, plan.depth)
                return InTime(plan, evaluation, time.monotonic() - begun)
        depths = {depth for depth, _ in reached.values}
        full = [depth for depth in depths if set(reached.moves_at(depth)) >= legal]
        if full:
            whole = first_depths(reached, max(full))
        elif depths:  # not even one whole depth: the moves that have a value
            known = {key: value for key, value in reached.values.items() if key[1] in legal}
            whole = first_depths(SearchLog(known, reached.ranks, None, reached.nodes), max(depths))
        return InTime(None, whole, time.monotonic() - begun)

    def _restore_lines(self, plan: Plan) -> None:
        if plan.name == "standard" and self._engine is not None and self._engine.alive:
            try:
                self._engine.configure({"MultiPV": self.options["MultiPV"]})
            except EngineError:
                self._engine.alive = False

    def close(self) -> None:
        """End the engine."""
        self._closed = True
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def __enter__(self) -> TimedEvaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
