"""Matches: bots against each other, or against any UCI engine; on all cores, resumable."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import chess
import chess.pgn
import polars as pl

from milepost import __version__
from milepost.analysis.engine.setup import find_engine
from milepost.analysis.engine.uci import UciEngine
from milepost.api.bot_options import whole_number
from milepost.api.contenders import Contender, read_contenders
from milepost.api.minds import cheapest_plan
from milepost.api.play import ELO, Bot
from milepost.errors import EngineAnswerError, InputError, NoCalibrationError
from milepost.games.positions import STARTPOS, board_from_text, why_no_move
from milepost.io.files import write_bytes
from milepost.io.outputs import refuse_stream
from milepost.io.progress import Progress, Report
from milepost.io.work import WorkFolder, run_tasks

_DRAWISH_PAWNS = 0.15
_ENGINE_SECONDS = 600.0
"""Then an engine that plays counts as hanging."""


@dataclass(frozen=True)
class MatchRules:
    """When a game ends before mate or a draw by the rules."""

    resign_pawns: float | None = 10.0
    """A bot resigns when its best move has been worth less three times in a row; None = never."""
    draw_ply: int | None = 160
    """From this half-move on ten half-moves without an edge end in a draw; None = never."""
    most_plies: int = 400
    """Then the game is a draw."""
    opening: str | None = None
    """The first position of every game, as FEN [default: the usual one]."""


@dataclass(frozen=True)
class _Pairing:
    number: int
    white: Contender
    black: Contender
    round: int
    seed: int
    rules: MatchRules
    mark: str = ""


@dataclass(frozen=True, eq=False)
class Match:
    """What a match came to."""

    table: pl.DataFrame
    """One row a pair: `first`, `second`, `games`, `score` of the first, `wins`, `draws`, `losses`,
    `elo` (the difference that the score shows) with `low` and `high`, and `expected`, the score
    by the Elo formula where both have one."""
    games: int
    """Games in the file."""
    resumed: int
    """Games that were there already."""
    path: str = ""
    """The PGN."""
    terminations: dict[str, int] = field(default_factory=dict)
    """How the games ended."""


class _Player(Protocol):
    def new_game(self, number: int | None = None) -> None: ...

    def play(self, board: chess.Board) -> tuple[chess.Move, float | None]:
        """Return a move, and what the best one is worth, if that is known."""

    def close(self) -> None: ...


def _make_bot(contender: Contender, seed: int) -> Bot:
    elo = ELO if contender.elo is None else contender.elo
    cheapest = None if contender.agent or contender.calibration else cheapest_plan(elo)
    return Bot(
        elo,
        plan=contender.plan or cheapest,
        engine=contender.engine,
        calibration=contender.calibration,
        agent=contender.agent,
        book=contender.book,
        choice=contender.choice,
        form=contender.form,
        seed=seed,
    )


class _BotPlayer:
    def __init__(self, contender: Contender, seed: int):
        self._bot = _make_bot(contender, seed)
        self._bot.start()

    def new_game(self, number: int | None = None) -> None:
        self._bot.new_game(number)

    def play(self, board: chess.Board) -> tuple[chess.Move, float | None]:
        move = self._bot.book_move(board)
        if move is not None:
            return move, None
        thought = self._bot.think(board)
        return self._bot.pick(thought), float(thought.options.values.max())

    def close(self) -> None:
        self._bot.close()


class _EnginePlayer:
    """Any UCI engine, with the moves of the game so far; no thread of its own that would stay."""

    def __init__(self, contender: Contender):
        assert contender.uci is not None
        self._engine = UciEngine(find_engine(contender.uci))
        self._engine.configure(dict(contender.options))
        limits = []
        if contender.depth is not None:
            limits.append(f"depth {contender.depth}")
        if contender.nodes is not None:
            limits.append(f"nodes {contender.nodes}")
        if contender.seconds is not None:
            limits.append(f"movetime {round(1000 * contender.seconds)}")
        self._limit = " ".join(limits)

    def new_game(self, number: int | None = None) -> None:
        self._engine.send("ucinewgame")
        self._engine.wait_ready()

    def play(self, board: chess.Board) -> tuple[chess.Move, float | None]:
        moves = " ".join(move.uci() for move in board.move_stack)
        root = board.root().fen()
        self._engine.send(f"position fen {root}" + (f" moves {moves}" if moves else ""))
        self._engine.send(f"go {self._limit}")
        printed = self._engine.read_until(b"bestmove", _ENGINE_SECONDS).decode("utf-8", "replace")
        words = printed.splitlines()[-1].split()
        try:
            return board.parse_uci(words[1]), None
        except (IndexError, ValueError) as error:
            raise EngineAnswerError(f"{self._engine.name} answered {' '.join(words)}") from error

    def close(self) -> None:
        self._engine.kill()


_PLAYERS: dict[tuple[Contender, int, str], _Player] = {}
"""The players of this process."""


def _player(contender: Contender, seed: int, side: str) -> _Player:
    """A player that is kept for many games; one a side, so that one may meet itself."""
    key = contender, seed, side
    if key not in _PLAYERS:
        made: _Player = _EnginePlayer(contender) if contender.uci else _BotPlayer(contender, seed)
        _PLAYERS[key] = made
    return _PLAYERS[key]


def _refuse_impossible(contenders: Sequence[Contender], seed: int) -> None:
    """Refuse who cannot play before anybody is made ready, or a folder for the games is made.

    Raises
    ------
    InputError
        If a bot cannot play so; `EngineError` if an engine is not there or lacks an option.
    """
    for contender in contenders:
        if contender.uci is not None:
            engine = UciEngine(find_engine(contender.uci))
            try:
                engine.check_options(dict(contender.options))
            finally:
                engine.kill()
            continue
        try:
            _make_bot(contender, seed).close()
        except NoCalibrationError:
            raise
        except InputError as error:
            raise InputError(f"{contender.title}: {error}") from error


def _close_players() -> None:
    """End the engines of this process; those of workers end with them."""
    while _PLAYERS:
        _PLAYERS.popitem()[1].close()


_ADJUDICATED = ("adjudicated", "too long")


def play_game(pairing: _Pairing) -> dict[str, pl.DataFrame]:
    """Play one game; return its PGN, result and termination as a table."""
    players: dict[chess.Color, _Player] = {
        chess.WHITE: _player(pairing.white, pairing.seed, "white"),
        chess.BLACK: _player(pairing.black, pairing.seed + 1, "black"),
    }
    for player in players.values():
        player.new_game(pairing.number)
    rules = pairing.rules
    board = _first_board(rules)
    game = chess.pgn.Game.from_board(board)
    node: chess.pgn.GameNode = game
    hopeless = {chess.WHITE: 0, chess.BLACK: 0}
    quiet = 0
    result, termination = "*", ""
    while True:
        ended = _ended(board)
        if ended is not None:
            result, termination = ended
            break
        if len(board.move_stack) >= rules.most_plies:
            result, termination = "1/2-1/2", "too long"
            break
        if rules.draw_ply is not None and quiet >= 10 and board.ply() >= rules.draw_ply:
            result, termination = "1/2-1/2", "adjudicated"
            break
        mover = board.turn
        move, worth = players[mover].play(board)
        if worth is not None:
            limit = rules.resign_pawns
            bad = limit is not None and worth < -limit
            hopeless[mover] = hopeless[mover] + 1 if bad else 0
            quiet = quiet + 1 if abs(worth) <= _DRAWISH_PAWNS else 0
            if hopeless[mover] >= 3:
                result, termination = ("0-1" if mover else "1-0"), "resigned"
                break
        board.push(move)
        node = node.add_variation(move)
    elos = {"WhiteElo": pairing.white.elo, "BlackElo": pairing.black.elo}
    game.headers.update(
        {
            "Event": "Milepost match",
            "Site": "?",
            "Date": "????.??.??",
            "Round": str(pairing.round),
            "White": pairing.white.title,
            "Black": pairing.black.title,
            "Result": result,
            **{tag: f"{elo:.0f}" for tag, elo in elos.items() if elo is not None},
            "WhiteType": "program",
            "BlackType": "program",
            "PlyCount": str(len(board.move_stack)),
            # The words that the PGN standard knows.
            "Termination": "adjudication" if termination in _ADJUDICATED else "normal",
            "Annotator": f"milepost {__version__}, seed {pairing.seed}, game {pairing.number}",
            # By this the same call knows its games again.
            "Milepost": f"match {pairing.mark}, game {pairing.number}, {termination}",
        }
    )
    text = game.accept(chess.pgn.StringExporter(columns=80)) + "\n\n"
    return {"game": pl.DataFrame({"pgn": [text], "result": [result], "termination": [termination]})}


def _first_board(rules: MatchRules) -> chess.Board:
    """Where the games begin.

    Raises
    ------
    InputError
        If no game can begin there.
    """
    board = board_from_text(rules.opening or STARTPOS)
    if no_move := why_no_move(board):
        raise InputError(f"no game can begin there: {no_move}")
    return board


def _ended(board: chess.Board) -> tuple[str, str] | None:
    """Result and termination by the rules, draws being claimed as soon as they stand."""
    outcome = board.outcome()
    if outcome is not None:
        return outcome.result(), outcome.termination.name.lower().replace("_", " ")
    if board.is_repetition(3):
        return "1/2-1/2", "threefold repetition"
    return ("1/2-1/2", "fifty moves") if board.is_fifty_moves() else None


def match(
    contenders: Sequence[Contender | str],
    output: str | Path,
    *,
    games: int = 100,
    seed: int = 2011,
    rules: MatchRules | None = None,
    workers: int = 1,
    resume: bool = True,
    progress: Report | None = None,
) -> Match:
    """Let bots and engines play each other, every one every other, colours in turn.

    Parameters
    ----------
    contenders
        Two or more; see `parse_contender` for their texts.
    output
        The PGN. Until the last game is over, the games lie in a folder beside it; the same call
        goes on where it was stopped, and plays nothing once all games are there. More games of
        the same match are added. A file with other games, or with more of this match than asked
        for, is left as it is.
    games
        Of each pair.
    seed
        Every game has numbers of its own from it; the same call gives the same games.
    rules
        When a game ends before its end.
    workers
        Games at a time.
    resume
        Whether games of an earlier call may be used; else a file that is there is written anew.
    progress
        Called after every game.

    Raises
    ------
    InputError
        If there are less than two contenders, one cannot be read, or the file holds other games,
        or more of this match than asked for; or no game can begin at the first position.
    OutputError
        If the output is no file: standard output, a device or a FIFO.
    """
    refuse_stream(output, "a match keeps its games in its file, and goes on from there")
    known = read_contenders(contenders)
    games = whole_number("games", games, "a number of games from 1, such as 100")
    seed = whole_number("seed", seed, "a whole number from 0, such as 2011")
    workers = whole_number("workers", workers, "a number of processes from 1")
    if games < 1:
        raise InputError("a match needs a game")
    asked = rules or MatchRules()
    _first_board(asked)
    tell = progress or (lambda _: None)
    pairs = list(itertools.combinations(known, 2))
    tasks: list[_Pairing] = []
    for turn in range(games):
        for first, second in pairs:
            white, black = (first, second) if turn % 2 == 0 else (second, first)
            number = len(tasks)
            tasks.append(_Pairing(number, white, black, turn + 1, seed, asked))
    identity = {"contenders": [asdict(each) for each in known], "seed": seed} | asdict(asked)
    mark = _mark(identity | {"files": [_digests(each) for each in known]})
    tasks = [replace(task, mark=mark) for task in tasks]
    played = _played(output, mark) if resume else {}
    if resume:
        _refuse_to_lose(output, len(played), len(tasks))
    if all(task.number in played for task in tasks):
        rows = [played[task.number] for task in tasks]
        tell(Progress(len(tasks), len(tasks), _played_before(len(tasks))))
        return _match(pairs, tasks, rows, len(tasks), output)
    _refuse_impossible(known, seed)
    folder = WorkFolder(output, identity, resumable=resume)
    for number, row in played.items():
        if number < len(tasks) and not folder.is_done(number):
            folder.put(number, {"game": pl.DataFrame([row])})
            folder.resumed += 1
    rows = []
    # Games come in their order, but an earlier run may have played later ones first.
    over = {task.number for task in tasks if folder.is_done(task.number)}
    before = len(over)
    note = _played_before(before)
    tell(Progress(before, len(tasks), note, before=before))  # the first may take a minute
    try:
        for task in run_tasks(tasks, play_game, folder, workers=workers):
            rows.append(folder.get(task.number, "game").row(0, named=True))
            over.add(task.number)
            tell(Progress(len(over), len(tasks), note, before=before))
        write_bytes(output, "".join(row["pgn"] for row in rows).encode("utf-8"))
    except BaseException:
        folder.close()
        raise
    finally:
        _close_players()
    resumed = folder.resumed
    folder.remove()
    return _match(pairs, tasks, rows, resumed, output)


def _match(
    pairs: Sequence[tuple[Contender, Contender]],
    tasks: Sequence[_Pairing],
    rows: Sequence[dict[str, str]],
    resumed: int,
    output: str | Path,
) -> Match:
    ends = [row["termination"] for row in rows]
    counts = {name: ends.count(name) for name in sorted(set(ends))}
    table = _standing(pairs, tasks, [row["result"] for row in rows])
    return Match(table, len(rows), resumed, str(output), counts)


def _played_before(games: int) -> str:
    """A note of the games that an earlier run has played; empty if there are none."""
    return f"{games:,} played by an earlier run" if games else ""


def _mark(identity: dict[str, Any]) -> str:
    """What tells the games of one match from those of another: all that they depend on."""
    text = json.dumps({"version": __version__, **identity}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _digests(contender: Contender) -> list[str]:
    """What is in the files that a contender plays by."""
    paths = [
        Path(each) for each in (contender.agent, contender.calibration, contender.book) if each
    ]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.is_file()]


def _refuse_to_lose(output: str | Path, played: int, asked: int) -> None:
    """Refuse to write a match over anything else, or over more games of the same match."""
    if played > asked:
        raise InputError(
            f"{output} holds {played:,} games of this match, more than the {asked:,} asked for: "
            "ask for as many or more, or give the games another file"
        )
    path = Path(output)
    if path.is_file() and path.stat().st_size and not played:
        what = "other games" if b"[Event " in path.read_bytes() else "something else than games"
        raise InputError(
            f"{output} holds {what}, which would be lost: give this match another file, or remove "
            "that one"
        )


_GAME = re.compile(r'^\[Milepost "match (\w+), game (\d+), ([a-z ]+)"\]$', re.MULTILINE)
_RESULT = re.compile(r'^\[Result "([^"]+)"\]$', re.MULTILINE)


def _played(output: str | Path, mark: str) -> dict[int, dict[str, str]]:
    """Return the games of this match that a finished file holds, by their numbers.

    Nothing is taken from a file with anything else in it: somebody has made it his own.
    """
    path = Path(output)
    if not path.is_file():
        return {}
    games: dict[int, dict[str, str]] = {}
    text = path.read_text(encoding="utf-8", errors="replace")
    for part in text.split("[Event ")[1:]:
        pgn = f"[Event {part}"
        said, result = _GAME.search(pgn), _RESULT.search(pgn)
        if said is None or result is None or said[1] != mark:
            return {}
        games[int(said[2])] = {"pgn": pgn, "result": result[1], "termination": said[3]}
    return games


def _standing(
    pairs: Sequence[tuple[Contender, Contender]], tasks: Sequence[_Pairing], results: list[str]
) -> pl.DataFrame:
    rows = []
    for first, second in pairs:
        scores = []
        for task, result in zip(tasks, results, strict=True):
            if {task.white, task.black} != {first, second}:
                continue
            white = {"1-0": 1.0, "0-1": 0.0}.get(result, 0.5)
            scores.append(white if task.white == first else 1.0 - white)
        n = len(scores)
        mean = sum(scores) / n
        # Two wins and two losses more (Agresti & Coull 1998): a clean score of a few games has an
        # error too, which its own scatter does not show.
        padded = [*scores, 1.0, 1.0, 0.0, 0.0]
        middle = sum(padded) / len(padded)
        variance = sum((score - middle) ** 2 for score in padded) / (len(padded) - 1)
        error = math.sqrt(variance / len(padded))
        expected = None
        if first.elo is not None and second.elo is not None:
            expected = 1.0 / (1.0 + 10.0 ** ((second.elo - first.elo) / 400.0))
        rows.append(
            {
                "first": first.title,
                "second": second.title,
                "games": n,
                "score": mean,
                "error": error,
                "wins": scores.count(1.0),
                "draws": scores.count(0.5),
                "losses": scores.count(0.0),
                "elo": _elo(mean, n),
                "low": _elo(middle - 1.96 * error, len(padded)),
                "high": _elo(middle + 1.96 * error, len(padded)),
                "expected": expected,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _elo(score: float, games: int) -> float:
    """The difference in Elo that a score shows; a clean score counts as half lost once more."""
    edge = 0.5 / (games + 1)
    inside = min(max(score, edge), 1.0 - edge)
    return 400.0 * math.log10(inside / (1.0 - inside))
