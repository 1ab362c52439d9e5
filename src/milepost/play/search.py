"""One ``go``: from the position and the clock to ``info`` lines and a ``bestmove``.

Runs in the worker thread. The bot does the thinking (`milepost.api.play`); here it is decided which
plans the clock allows, when the answer may be sent, and what the GUI is told.
"""

from __future__ import annotations

import time

import chess

from milepost.analysis.engine.search_output import Value
from milepost.api.play import Bot
from milepost.api.thoughts import NO_VALUES, Thought, blind_thought
from milepost.intrinsic.choosing.think_time import Moment, clock_offset, think_times
from milepost.play.boards import board_of
from milepost.play.clock import Budget, Lag, Pace, budget
from milepost.play.jobs import Job
from milepost.play.protocol import Go

_NODES = {"blitz": 50_000, "quick": 200_000, "standard": 700_000}
"""A limit of nodes below these asks for a cheaper plan."""
_DEPTHS = {"blitz": 7, "quick": 9, "standard": 11}
"""… and so does a limit of depth."""
_ROOM = 2.0
"""A plan is begun if so many times what it usually takes is there."""
_STRETCH = 2.0
"""… or half of that, where the cheapest plan cannot play at the Elo that is asked for."""
_SHOWN_LETTERS = 100
"""So much of what is not understood is shown."""
_GLANCE_SECONDS = 0.03
_LOOK_SECONDS = 0.01
_CLOCK_MOVES = 60
"""A time control is told by the time for so many moves."""


class Searcher:
    """Carries out searches for one bot."""

    def __init__(self, bot: Bot):
        """Begin with a bot that was started."""
        self.bot = bot
        self._pace = Pace()
        self._control: float | None = None
        self._lag = Lag()

    def new_game(self, number: int) -> None:
        """Begin another game."""
        self.bot.new_game(number)
        self._control = None

    def run(self, job: Job) -> None:
        """Carry a search out, and answer it with a bestmove."""
        if job.over.is_set():  # the guard could not wait for us
            return
        job.thinking.set()
        board, wrong = board_of(job.position)
        if wrong:
            job.tell(f"info string {wrong}")
        if job.go.strange:
            words = " ".join(job.go.strange)[:_SHOWN_LETTERS]
            job.tell(f"info string go: not understood, and left out: {words}")
        if not any(board.legal_moves):
            self._wait_for_leave(job)
            mated = board.is_checkmate()
            job.answer(f"info depth 0 score {'mate 0' if mated else 'cp 0'}", "bestmove (none)")
            return
        allowed = budget(
            job.go,
            white=board.turn == chess.WHITE,
            overhead_ms=int(job.options["Move Overhead"]),
        )
        self._lag.learn(board.ply(), allowed)
        analysing = job.go.infinite or job.options["UCI_AnalyseMode"] == "true"
        only = [move for move in board.legal_moves if move.uci() in job.go.searchmoves]
        if strange := [
            text for text in job.go.searchmoves if text not in {move.uci() for move in only}
        ]:
            rest = "only the others are" if only else "every move is"
            job.tell(
                f"info string searchmoves: not legal here: {' '.join(strange)}; {rest} looked at"
            )
        move = None
        if not analysing and not only:
            move = self.bot.book_move(board)
        thought = None
        if move is None:
            thought = self._think(job, board, allowed, only)
            self._tell(job, thought)
            move = self.bot.pick(thought)
        else:
            job.tell("info depth 1 score cp 0 pv " + move.uci())
            job.tell("info string book")
        job.move = move.uci()
        self._wait_for_leave(job)
        meant = 0.0 if thought is None else self._meant(thought, allowed)
        if not analysing:
            waiting = time.monotonic()
            self._take_time(job, board, thought, allowed)
            meant += time.monotonic() - waiting
        reply = self._expected_reply(job, board, move, allowed)
        searched = thought is not None and thought.source != NO_VALUES
        if searched and not job.go.ponder:  # then the clock did not run all the time
            self._lag.answered(board.ply(), allowed, meant)
        job.answer(f"bestmove {move.uci()}" + (f" ponder {reply}" if reply else ""))

    def _meant(self, thought: Thought, allowed: Budget) -> float:
        """How long the search was meant to take; what it took beyond its end counts as lag."""
        seconds = self._lag.search_seconds(allowed)
        return thought.seconds if seconds is None else min(thought.seconds, max(seconds, 0.0))

    def _think(
        self, job: Job, board: chess.Board, allowed: Budget, only: list[chess.Move]
    ) -> Thought:
        plans = self._plans(job.go, allowed)
        if told := self._limit_words(job.go, plans[0]):
            job.tell(f"info string {told}")
        # While pondering the clock is the opponent's.
        clocked = allowed.most is not None and not job.go.ponder
        deadline = None
        seconds = self._lag.search_seconds(allowed)
        if clocked and seconds is not None:
            if allowed.left is not None and seconds < _GLANCE_SECONDS and not only:
                return blind_thought(board, self.bot.elo_today)  # or the flag falls
            # Even where the time is over, a glance is better than no look at all.
            deadline = max(job.began + seconds, time.monotonic() + _GLANCE_SECONDS)

        def stopped() -> bool:
            return job.stop.is_set()

        thought = self.bot.think(
            board,
            elo=self._elo(job, allowed),
            guessing=job.options["UCI_AnalyseMode"] == "true",
            moves=only,
            plans=plans,
            deadline=deadline,
            stopped=stopped,
        )
        if not job.stop.is_set():
            self._pace.learn(plans[0], thought.plan, thought.seconds)
        return thought

    def _plans(self, go: Go, allowed: Budget) -> list[str]:
        """The plans that the limits leave, the dearest first; always at least the cheapest."""
        names = [mind.name for mind in self.bot.minds]
        depth, nodes = go.numbers.get("depth"), go.numbers.get("nodes")
        if depth is not None:
            names = [name for name in names if depth >= _DEPTHS.get(name, 0)]
        if nodes is not None:
            names = [name for name in names if nodes >= _NODES.get(name, 0)]
        if allowed.most is not None:
            fair = allowed.most if allowed.fair is None else allowed.fair
            if self.bot.elo_today > self.bot.minds[-1].range[1]:
                fair = min(_STRETCH * fair, allowed.most)
            fair -= self._lag.seconds
            names = [name for name in names if _ROOM * self._pace.seconds(name) <= fair]
        return names or [self.bot.minds[-1].name]

    def _limit_words(self, go: Go, name: str) -> str:
        """Say what becomes of limits that can do no more than choose a plan; empty = none do."""
        depth = next(mind.plan.depth for mind in self.bot.minds if mind.name == name)
        limits = [
            f"{limit} {go.numbers[limit]}"
            for limit in ("depth", "nodes", "mate")
            if limit in go.numbers and (limit, go.numbers[limit]) != ("depth", depth)
        ]
        if not limits:
            return ""
        return f"{', '.join(limits)}: an Elo holds for whole plans, so {name} goes to depth {depth}"

    def _elo(self, job: Job, allowed: Budget) -> float:
        elo = self.bot.elo_today
        if job.options["ClockStrength"] == "true" and allowed.left is not None:
            if self._control is None:
                self._control = allowed.left / _CLOCK_MOVES + allowed.increment
            low, high = self.bot.range
            elo = min(max(elo + clock_offset(self._control), low), high)
        return elo

    def _tell(self, job: Job, thought: Thought) -> None:
        options, choice = thought.options, thought.choice
        spent = round(1000 * (time.monotonic() - job.began))
        depth = options.depth_values.shape[1]
        wdl = job.options["UCI_ShowWDL"] == "true"
        for line, place in enumerate(thought.order[: int(job.options["MultiPV"])], start=1):
            score = options.scores[place]
            job.tell(
                f"info depth {depth} multipv {line} score {score_words(score)}"
                f"{wdl_words(options.values[place]) if wdl else ''} nodes {thought.nodes} "
                f"time {spent} pv {options.moves[place]}"
            )
            job.tell(
                f"info string {options.moves[place]} human {choice.probabilities[place]:.4f} "
                f"loss {choice.losses[place]:.2f}"
            )
        likeliest = choice.probabilities[choice.likeliest]
        claimed = f"elo {thought.elo:.0f}" if thought.plan is not None else "elo not claimed"
        asked = self.bot.elo_today
        hasty = thought.plan not in (None, self.bot.minds[0].name)
        if hasty and self._most(thought) < asked:
            job.tell(
                f"info string in haste: {thought.plan} plays at {self._most(thought):.0f} at most, "
                f"not at {asked:.0f}"
            )
        seen = (
            f"human {likeliest:.4f} expected-loss {choice.expected_loss:.3f} "
            f"slip {choice.slip:.4f} "
        )
        if thought.source == NO_VALUES:
            seen = ""  # nothing was looked at, so there is nothing to say of it
        job.tell(f"info string {seen}{claimed} plan {thought.plan or 'none'} by {thought.source}")
        if job.options["UCI_AnalyseMode"] == "true" and thought.plan is not None:
            mind = next(each for each in self.bot.minds if each.name == thought.plan)
            elo, (low, high) = mind.chooser.likeliest_from(options)
            best = options.moves[choice.best]
            where = f"at no Elo up to {high:.0f}" if elo is None else f"from Elo {elo:.0f} on"
            if elo is not None and elo <= low:
                where = f"at every Elo from {low:.0f} on"
            job.tell(f"info string best {best} likeliest {where}")

    def _most(self, thought: Thought) -> float:
        """The greatest Elo that the plan of a thought can play at."""
        return next(mind.range[1] for mind in self.bot.minds if mind.name == thought.plan)

    def _wait_for_leave(self, job: Job) -> None:
        """Infinite searches end by stop, ponderings by stop or ponderhit."""
        while job.waits:
            job.stop.wait(_LOOK_SECONDS)

    def _take_time(
        self, job: Job, board: chess.Board, thought: Thought | None, allowed: Budget
    ) -> None:
        """Wait as long as a human would, within what the clock allows."""
        style = job.options["ThinkTime"]
        if style == "instant" or allowed.left is None:
            return
        assert allowed.fair is not None
        assert allowed.most is not None
        wanted = allowed.fair
        if style == "human":
            entropy = 0.0 if thought is None else thought.choice.entropy
            recapture = False
            if thought is not None and board.move_stack:
                likeliest = chess.Move.from_uci(thought.options.moves[thought.choice.likeliest])
                last = board.move_stack[-1].to_square
                recapture = likeliest.to_square == last and board.is_capture(likeliest)
            moment = Moment(allowed.left, allowed.increment, board.ply(), entropy, recapture)
            wanted = think_times().draw(moment, self.bot.time_rng)
        until = job.began + min(wanted, 0.9 * allowed.most)
        while (left := until - time.monotonic()) > 0 and not job.stop.is_set():
            job.stop.wait(min(left, 0.05))

    def _expected_reply(
        self, job: Job, board: chess.Board, move: chess.Move, allowed: Budget
    ) -> str | None:
        """The likeliest reply of the opponent, to ponder on; only if somebody ponders."""
        if job.options["Ponder"] != "true":
            return None
        after = board.copy()
        after.push(move)
        left = None if allowed.most is None else job.began + allowed.most - time.monotonic()
        enough = left is None or left > 3 * self._pace.seconds("bullet")
        if not any(after.legal_moves) or not enough:
            return None
        low, high = self.bot.guess_range
        elo = min(max(opponent_elo(job.options["UCI_Opponent"], self.bot.elo), low), high)
        deadline = None if left is None else time.monotonic() + 0.7 * left
        thought = self.bot.think(after, elo=elo, guessing=True, plans=["bullet"], deadline=deadline)
        return thought.options.moves[thought.choice.likeliest] if thought.plan else None


def score_words(value: Value) -> str:
    """Return a value as UCI says it."""
    return f"mate {value.mate}" if value.mate is not None else f"cp {value.cp or 0}"


def wdl_words(pawns: float) -> str:
    """Return the chances of the mover as UCI says them, in thousandths.

    Stockfish's centipawns are normalised: at one pawn half of its own games are won. The slope is
    about that of its own model in the middlegame.
    """
    from math import exp

    win = 1000 / (1 + exp(min(max((1.0 - pawns) / 0.25, -50), 50)))
    loss = 1000 / (1 + exp(min(max((1.0 + pawns) / 0.25, -50), 50)))
    return f" wdl {round(win)} {1000 - round(win) - round(loss)} {round(loss)}"


def opponent_elo(text: str, otherwise: float) -> float:
    """Return the Elo of the opponent, from ``UCI_Opponent``: title, Elo, kind, name."""
    for word in text.split():
        if word.isdigit():
            return float(word)
    return otherwise
