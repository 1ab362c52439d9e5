"""Play like a human of a given Elo: guesses about one position, and a bot that chooses moves.

Guesses are the calibrated agents that ratings read: how probable people's moves are. The bot draws
its moves from them, sharpened by a playing map where the plan is shallow, so that a deeper search
rates it at its Elo. In the opening, where no agent is calibrated, it goes by a book; in decided
positions and against a bare king by agents and rules of their own (`milepost.intrinsic.choosing`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import chess
import chess.syzygy
import numpy as np

from milepost.analysis.engine.setup import EngineSetup, find_engine, readable_setup
from milepost.analysis.in_time import InTime, TimedEvaluator
from milepost.analysis.spreads.known_endings import solve_endings
from milepost.analysis.spreads.one_position import position_options
from milepost.api.bot_options import check_file, number, whole_number
from milepost.api.guesses import FIRST_PLIES, Guess, as_board, guess_of
from milepost.api.minds import Mind, find_minds, out_of_range, usual_plan, whole_elos
from milepost.api.thoughts import HASTE, Thought, blind_thought
from milepost.errors import InputError
from milepost.games.book import OWN_BOOK, Book, open_book
from milepost.games.positions import what_was_assumed, why_no_move
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.choosing.choose import AGENT, TECHNIQUE, draw
from milepost.intrinsic.choosing.personal import PersonalAgent, load_agent

ELO = 1800.0
SAMPLE, LIKELIEST = "sample", "likeliest"
CHOICES = (SAMPLE, LIKELIEST)
BOOK_PLIES = FIRST_PLIES
"""The book ends before the ninth move, where the calibrations begin."""
_WARM = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 4 9"


class Bot:
    """An opponent that errs like a human of a given Elo; use it in a ``with`` statement.

    Examples
    --------
    >>> with Bot(elo=1500, seed=1) as bot:                                     # doctest: +SKIP
    ...     move = bot.choose(chess.Board())
    """

    def __init__(
        self,
        elo: float | None = ELO,
        *,
        plan: str | None = None,
        engine: str | Path | None = None,
        calibration: Calibration | str | Path | None = None,
        agent: PersonalAgent | str | Path | None = None,
        clip: bool = False,
        book: str | Path | None = OWN_BOOK,
        book_plies: int = BOOK_PLIES,
        choice: str = SAMPLE,
        form: float = 0.0,
        seed: int | None = None,
    ):
        """Set a bot up; the engine starts with the first position, or with `start`.

        Parameters
        ----------
        elo
            What it plays like, within the range of the plan; None = the greatest there.
        plan
            How the engine searches: ``"bullet"``, ``"blitz"``, ``"quick"`` or ``"standard"``, the
            cheapest first. An Elo means the same by each, but not each reaches every Elo [default:
            quick; with `agent` the plan that it was fitted with].
        engine
            The inner engine's program [default: the usual places].
        calibration
            Another calibration than the shipped one, for this engine and plan.
        agent
            One person's agent (`milepost.personify`), or its file: then `elo` counts for nothing.
        clip
            Take the nearest possible Elo for one outside the range, in place of an error.
        book
            ``"own"``: the one that comes with the package; a Polyglot file; None = no book.
        book_plies
            Until which half-move the book is asked.
        choice
            ``"sample"``: as probable as for humans; ``"likeliest"``: always the likeliest move,
            which is stronger than any human of that Elo.
        form
            Standard deviation of the Elo from game to game.
        seed
            The same seed gives the same game against the same moves; `new_game` begins it again, or
            another one of the seed [default: chance].

        Raises
        ------
        InputError
            If an option is not possible; `NoCalibrationError` if the engine has no calibration.
        EngineError
            If there is no engine.
        """
        if choice not in CHOICES:
            raise InputError(f"the choice is {' or '.join(CHOICES)}, got {choice!r}")
        if elo is not None:
            elo = number("elo", elo, "a number such as 1800, or None for the greatest possible")
        form = number("form", form, "a standard deviation in Elo, such as 50")
        if not form >= 0:
            raise InputError(f"the form is a standard deviation from 0, got {form:g}")
        if seed is not None:
            seed = whole_number("seed", seed, "a whole number from 0, or None for chance")
        book_plies = whole_number("book_plies", book_plies, "a number of half-moves, such as 16")
        check_file("engine", engine, "the path of a UCI engine, or None for the usual places")
        check_file("agent", agent, "a file of milepost.personify", PersonalAgent)
        check_file("calibration", calibration, "a file of milepost.calibrate", Calibration)
        check_file("book", book, f"a Polyglot file, {OWN_BOOK!r}, or None")
        person = load_agent(agent) if isinstance(agent, str | Path) else agent
        self.program = find_engine(None if engine is None else str(engine))
        name = usual_plan(person) if plan is None else plan
        self.setup, self.minds = find_minds(self.program, name, calibration, person)
        low, high = self.range
        if person is not None:
            elo = person.elo
            if all(mind.chooser.shift is None for mind in self.minds[:1]):
                raise InputError(_other_agent(person, name, self.setup))
        elif elo is None:
            elo = high
        elif clip:
            elo = min(max(elo, low), high)
        elif not low <= elo <= high:
            raise InputError(out_of_range(name, (low, high), elo))
        self.elo = float(elo)
        self.choice = choice
        self.form = form
        self.seed = seed
        self.book_plies = book_plies
        self.book: Book | None = None if book is None else open_book(book)
        self._rng = np.random.default_rng(seed)
        self.time_rng = np.random.default_rng(seed)
        self._offset = 0.0
        self._closed = False
        self._tables: chess.syzygy.Tablebase | None = None
        self.evaluator = TimedEvaluator(self.program, dict(self.setup.options))
        self.new_game()

    def play_at(self, elo: float) -> None:
        """Play at another Elo from now on; beyond what the plan can, at the nearest that it can."""
        low, high = self.range
        self.elo = min(max(float(elo), low), high)

    def use_book(self, book: str | Path | None, plies: int) -> None:
        """Play by another book from now on; see `Bot`.

        Raises
        ------
        InputError
            If it cannot be read; then the book stays.
        """
        found = None if book is None else open_book(book)
        if self.book is not None:
            self.book.close()
        self.book, self.book_plies = found, plies

    @property
    def range(self) -> tuple[float, float]:
        """The Elos that it can play at by its plan."""
        return self.minds[0].range

    @property
    def guess_range(self) -> tuple[float, float]:
        """The Elos that it can guess about: those of its calibration."""
        return whole_elos(self.minds[0].chooser.calibration.range)

    def start(self) -> None:
        """Start the inner engine, and load what choosing needs."""
        self._refuse_closed()
        self.evaluator.start()
        self._warm()

    def _warm(self) -> None:
        """Think once as in a game: what is loaded or compiled then is not loaded on a clock."""
        board = chess.Board(_WARM)
        cheapest = self.minds[-1]
        thought = self.think(board, elo=self.elo, plans=[cheapest.name])
        if thought.plan is None:
            return
        solve_endings()
        options = thought.options
        won = replace(options, values=options.values + 8.0)
        for mind in self.minds:
            for known in (options, won):
                mind.chooser.choose(known, self.elo, play=True)

    def new_game(self, number: int | None = None) -> None:
        """Begin a game: draw the form of the day, and with a seed begin its numbers anew.

        Parameters
        ----------
        number
            Which game of the seed it is; games of different numbers differ [default: the one that
            the bot began with].

        Raises
        ------
        InputError
            If the number is not a whole one from 0.
        """
        game = 0
        if number is not None:
            game = whole_number("number", number, "a whole number from 0, or None for the first")
        if self.seed is not None:
            self._rng = np.random.default_rng([self.seed, game])
            # Thinking times have numbers of their own: they shall not change the moves.
            self.time_rng = np.random.default_rng([self.seed, game, 1])
        self._offset = self.form * float(self._rng.standard_normal()) if self.form else 0.0

    def use_tablebases(self, folder: str | Path) -> None:
        """Keep what Syzygy tables say is won or drawn; humans have none, so it is off by default.

        Raises
        ------
        InputError
            If there are none in the folder.
        """
        tables = chess.syzygy.Tablebase()
        try:
            found = tables.add_directory(str(folder))
        except OSError as error:
            raise InputError(
                f"the tables in {folder} cannot be read: {error.strerror or error}"
            ) from error
        if not found:
            raise InputError(f"there are no Syzygy tables in {folder}")
        self._tables = tables

    def _by_tables(self, thought: Thought) -> Thought:
        """Keep to the moves that keep the result, where the tables know the position."""
        board = thought.board
        if self._tables is None or board.occupied.bit_count() > chess.syzygy.TBPIECES:
            return thought
        results = []
        for text in thought.options.moves:
            after = board.copy(stack=False)
            after.push_uci(text)
            known = -2 if after.is_checkmate() else self._tables.get_wdl(after)
            if known is None:
                return thought
            results.append(-known)
        places = [at for at, result in enumerate(results) if result == max(results)]
        return replace(thought, choice=thought.choice.keep(places))

    @property
    def elo_today(self) -> float:
        """The Elo with the form of this game, within the range of the plan."""
        low, high = self.range
        return float(np.clip(self.elo + self._offset, low, high))

    def think(
        self,
        board: chess.Board,
        *,
        elo: float | None = None,
        guessing: bool = False,
        moves: Iterable[chess.Move] = (),
        plans: Sequence[str] = (),
        deadline: float | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> Thought:
        """Evaluate a position and say how probable each move is; the book is not asked.

        Parameters
        ----------
        board
            The position, with its history where known.
        elo
            Of the mover [default: the bot's].
        guessing
            Say how probable people's moves are, in place of how the bot would play.
        moves
            Keep to these moves.
        plans
            Only these of the bot's plans [default: its own, and what it may fall back to].
        deadline
            By `time.monotonic`: then the cheaper plan that was reached chooses, with its own
            calibration.
        stopped
            Asked again and again whether to end now.

        Raises
        ------
        InputError
            If there is no legal move, or none of those to keep to is legal.
        """
        self._refuse_closed()
        if no_move := why_no_move(board):
            raise InputError(no_move)
        level = self.elo_today if elo is None else float(elo)
        minds = [mind for mind in self.minds if not plans or mind.name in plans]
        minds = minds or self.minds[-1:]
        found = self.evaluator.evaluate(
            board.fen(), [mind.plan for mind in minds], deadline=deadline, stopped=stopped
        )
        thought = self._weigh(board, level, minds, found, guessing=guessing)
        if not guessing:
            thought = self._look_again(thought, minds, deadline, stopped)
        thought = self._by_tables(thought)
        only = {move.uci() for move in moves}
        if not only:
            return thought
        places = [at for at, text in enumerate(thought.options.moves) if text in only]
        if not places:
            raise InputError("none of the moves to keep to is legal here")
        return replace(thought, choice=thought.choice.keep(places))

    def _weigh(
        self,
        board: chess.Board,
        elo: float,
        minds: Sequence[Mind],
        found: InTime,
        *,
        guessing: bool = False,
    ) -> Thought:
        mind = next((mind for mind in minds if mind.plan == found.plan), None)
        source, evaluation = HASTE, found.evaluation
        if mind is None and not evaluation.moves:
            return blind_thought(board, elo, found.seconds)
        options = position_options(board, evaluation)
        used = mind or minds[-1]
        if not guessing:  # a plan does not claim an Elo that it cannot play
            elo = float(np.clip(elo, *used.range))
        choice = used.chooser.choose(options, elo, play=not guessing)
        if mind is not None:
            source = choice.regime
        return Thought(
            board, elo, source, None if mind is None else mind.name, options, choice,
            found.seconds, evaluation.nodes,
        )  # fmt: skip

    def _look_again(
        self,
        thought: Thought,
        minds: Sequence[Mind],
        deadline: float | None,
        stopped: Callable[[], bool] | None,
    ) -> Thought:
        """Decided positions go to a plan that can tell: bullet is blind there, if there is time.

        Standard has no agents for them, so it leaves them to a cheaper plan that has.
        """
        if thought.plan is None or thought.source in {AGENT, TECHNIQUE}:
            return thought
        own = next(mind for mind in minds if mind.name == thought.plan)
        others = [mind for mind in minds if mind.chooser.decided is not None]
        if own.decided is not None:
            others = [own.decided]
        elif own.chooser.decided is not None or not others:
            return thought
        found = self.evaluator.evaluate(
            thought.board.fen(), [mind.plan for mind in others], deadline=deadline, stopped=stopped
        )
        if found.plan is None:
            return thought
        again = self._weigh(thought.board, thought.elo, others, found)
        return replace(
            again,
            seconds=thought.seconds + again.seconds,
            nodes=thought.nodes + again.nodes,
            # The plan that was asked for answers for it.
            plan=own.name if own.decided else again.plan,
        )

    def book_move(self, board: chess.Board) -> chess.Move | None:
        """Draw a move from the book; None = it has none here, or the opening is over."""
        if self.book is None or board.ply() >= self.book_plies:
            return None
        entries = self.book.entries(board)
        if not entries:
            return None
        weights = np.array([weight for _, weight in entries], dtype=np.float64)
        place = int(weights.argmax()) if self.choice == LIKELIEST else draw(weights, self._rng)
        return entries[place][0]

    def pick(self, thought: Thought) -> chess.Move:
        """Choose one of the moves of a thought."""
        probabilities = thought.choice.probabilities
        sample = self.choice == SAMPLE
        place = draw(probabilities, self._rng) if sample else thought.choice.likeliest
        return chess.Move.from_uci(thought.options.moves[place])

    def choose(self, position: str | chess.Board) -> chess.Move:
        """Choose a move: from the book in the opening, else as humans of the Elo do.

        Parameters
        ----------
        position
            A board, which knows the moves before and so repetitions; or a FEN, or ``"startpos"``.

        Raises
        ------
        InputError
            If it is no legal position, there is no legal move, or the bot was closed.
        """
        self._refuse_closed()
        board = as_board(position)
        if no_move := why_no_move(board):
            raise InputError(no_move)
        move = self.book_move(board) or self.pick(self.think(board))
        # A board that counts as chess960 writes castling as the king taking the rook.
        return board.parse_uci(move.uci())

    def guess(self, position: str | chess.Board, elo: float | None = None) -> Guess:
        """Return what humans of an Elo would play; see `milepost.guess`."""
        self._refuse_closed()
        board = as_board(position)
        asked = self.elo if elo is None else number("elo", elo, "a number such as 1500")
        low, high = self.guess_range
        if not low <= asked <= high:
            raise InputError(f"the calibration is for Elo {low:.0f} to {high:.0f}, got {asked:g}")
        thought = self.think(board, elo=asked, guessing=True)
        found = guess_of(thought, self.minds, self.setup)
        told = what_was_assumed(position) if isinstance(position, str) else ""
        return replace(found, notes=(told, *found.notes)) if told else found

    def _refuse_closed(self) -> None:
        if self._closed:
            raise InputError(
                "this bot was closed, and its engine has ended: make another one, or ask it within "
                "its with statement"
            )

    def close(self) -> None:
        """End the inner engine."""
        self._closed = True
        self.evaluator.close()
        if self.book is not None:
            self.book.close()
        if self._tables is not None:
            self._tables.close()

    def __enter__(self) -> Bot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Say what it plays like."""
        return f"Bot(elo={self.elo:.0f}, plan={self.minds[0].name!r}, {self.setup.name})"


def _other_agent(person: PersonalAgent, plan: str, setup: EngineSetup) -> str:
    """Say that a person's agent is for another engine or plan, and what to do."""
    own = usual_plan(person)
    mend = "fit one with this engine, or give the engine that it was fitted with"
    if own != plan:
        mend = f"its own plan is {own}: ask for that, or for no plan"
    return (
        f"the agent was fitted with {person.setup_text}; this is "
        f"{readable_setup(setup.as_dict())}; {mend}"
    )


def guess(
    position: str | chess.Board,
    elo: float = 1500.0,
    *,
    plan: str | None = None,
    engine: str | Path | None = None,
    calibration: Calibration | str | Path | None = None,
    agent: PersonalAgent | str | Path | None = None,
) -> Guess:
    """Say what humans of an Elo would play in a position, and how they would err.

    Parameters
    ----------
    position
        A FEN, ``"startpos"``, or a board; a board that knows the moves before tells more
        (recaptures).
    elo
        Of the mover.
    plan
        ``"bullet"``, ``"blitz"``, ``"quick"`` or ``"standard"``: deeper plans know more, and take
        longer [default: as for `Bot`].
    engine
        The engine's program [default: the usual places].
    calibration
        Another calibration than the shipped one.
    agent
        One person's agent in place of an Elo.

    Returns
    -------
    Guess

    Raises
    ------
    InputError
        If it is no position, has no legal move, or the Elo is outside the calibration.
    """
    as_board(position)  # refused before an engine is started
    with Bot(
        elo, plan=plan, engine=engine, calibration=calibration, agent=agent, book=None, seed=0,
        clip=True,
    ) as bot:  # fmt: skip
        return bot.guess(position, elo if agent is None else None)


def monotonic() -> float:
    """The clock that deadlines are read from."""
    return time.monotonic()
