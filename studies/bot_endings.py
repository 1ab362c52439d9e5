"""What the bot makes of won positions: people's, and rook or queen against the bare king.

    python -m studies.bot_endings won   --output DIR [--first 0] [--positions 30] [--seed 1]
    python -m studies.bot_endings rise  --output DIR [--first 0] [--positions 30] [--seed 1]
    python -m studies.bot_endings mates --output DIR [--games 10]
    python -m studies.bot_endings pawns --output DIR [--games 10]

Every bot plays by the cheapest plan that can play at its Elo. *won*: turns of people's games at
which the side to move stands between three and five pawns ahead, or five and eight (one a game and
side, drawn by hash). Bots of the middle of the people's band play them on against each other, with
the rules of `milepost match` (who stands ten pawns down three moves in a row resigns). Beside it
what the people scored. Positions and seeds that a rule was chosen with are no test of it:
``--first`` and ``--seed`` give others. *mates*: rook or queen against the bare king, from random
positions, fifty moves to do it in. *pawns*: king and pawn against king, from random positions that
are won since the king stands on a key square. *rise*: does a stronger bot convert more? The same
positions for bots of every Elo, against one defender (in *won* the defender rises too).

Each game is a line of a file in DIR, so a study that was stopped goes on; ``--positions 0`` plays
none and takes what is there. What was found goes into
``studies/figures/bot.json``, from which ``python -m studies.bot_tables`` writes docs/play.md.
"""

from __future__ import annotations

import argparse
import random
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import chess
import numpy as np
import polars as pl
from studies.figure_file import BOT

import milepost as mp
from milepost.api.matches import MatchRules
from milepost.api.minds import cheapest_plan

LEADS = ((300, 500), (500, 800))
"""How far ahead the side to move is, in centipawns."""
BANDS = (1700, 1900, 2100, 2300, 2500)
"""Middles of the bands of people's Elos, each 200 wide; also the Elos of the bots."""
MATE_ELOS = (1500, 1600, 1800, 2000, 2200, 2400, 2600)
SOURCES = ("random_turns_2011-2014.parquet", "whole_games.parquet")


def won_positions(data: Path) -> pl.DataFrame:
    """Return turns where the side to move is well ahead: band, lead, position, people's score."""
    best = pl.col("cp").list.last().list.first()
    white = pl.col("fen").str.contains(" w ", literal=True)
    score = (
        pl.when(pl.col("result") == "1/2-1/2")
        .then(0.5)
        .when((pl.col("result") == "1-0") == white)
        .then(1.0)
        .otherwise(0.0)
    )
    parts = []
    for lead, (low, high) in enumerate(LEADS):
        for name in SOURCES:
            table = pl.read_parquet(data / "analysis" / name).with_columns(
                white.alias("side"), score.alias("score"), pl.lit(lead).alias("lead")
            )
            ahead = best.is_between(low, high, closed="left") & ~pl.col("repeated")
            parts.append(table.filter(ahead))
    wide = (BANDS[1] - BANDS[0]) / 2
    place = ((pl.col("milepost") - (BANDS[0] - wide)) / (2 * wide)).floor()
    band = (BANDS[0] + 2 * wide * place).cast(pl.Int64)
    wanted = ("lead", "band", "fen", "score")
    games = ["lead", "period", "milepost", "game", "side"]
    everything = pl.concat(parts, how="diagonal_relaxed").with_columns(band.alias("band"))
    marked = everything.with_columns(
        pl.Series("hash", [zlib.crc32(fen.encode()) for fen in everything["fen"]])
    )
    return (
        marked.filter(pl.col("band").is_in(BANDS))
        .sort("hash")
        .unique(games, keep="first", maintain_order=True)
        .select(wanted)
    )


class Kept:
    """Rows of a CSV file, one a game that was played; games that are there are not played again."""

    def __init__(self, path: Path, keys: Sequence[str]):
        self.path, self.keys = path, keys
        self.rows: list[dict[str, Any]] = pl.read_csv(path).to_dicts() if path.exists() else []
        self._known = {tuple(str(row[key]) for key in keys) for row in self.rows}

    def has(self, *key: Any) -> bool:
        """Return whether a game is there."""
        return tuple(str(each) for each in key) in self._known

    def add(self, row: dict[str, Any]) -> None:
        """Keep a game."""
        self.rows.append(row)
        self._known.add(tuple(str(row[key]) for key in self.keys))
        pl.DataFrame(self.rows).write_csv(self.path)
        sys.stderr.write(f"{row}\n")


def _bot(elo: float, seed: int) -> mp.Bot:
    """A bot without a book, by the cheapest plan that can play at its Elo."""
    return mp.Bot(elo, book=None, seed=seed, plan=cheapest_plan(elo))


def play_on(board: chess.Board, players: dict[bool, mp.Bot], resign_pawns: float | None) -> float:
    """Play a position on; return the score of the side that was to move."""
    mover = board.turn
    hopeless = {chess.WHITE: 0, chess.BLACK: 0}
    most = len(board.move_stack) + 300
    while not over(board) and len(board.move_stack) < most:
        bot = players[board.turn]
        thought = bot.think(board)
        bad = resign_pawns is not None and thought.options.values.max() < -resign_pawns
        hopeless[board.turn] = hopeless[board.turn] + 1 if bad else 0
        if hopeless[board.turn] >= 3:
            return float(board.turn != mover)
        board.push(bot.pick(thought))
    return float(board.turn != mover) if board.is_checkmate() else 0.5


def over(board: chess.Board) -> bool:
    """Return whether a game is over, draws being claimed as soon as they stand."""
    return board.outcome() is not None or board.is_repetition(3) or board.is_fifty_moves()


def won(
    output: Path,
    data: Path,
    numbers: range,
    seed: int,
    leads: Sequence[int] = range(len(LEADS)),
) -> dict[str, Any]:
    """Play won positions on, and compare with what people scored in them.

    A few of every cell are played in turn, so that a study that is stopped has some of each.
    """
    table = won_positions(data)
    kept = Kept(output / "won.csv", ("lead", "elo", "fen"))
    drawn = dict(table.group_by("lead", "band", maintain_order=True))
    for start in range(numbers.start, numbers.stop, _IN_TURN):
        for elo in BANDS:
            with _bot(elo, seed) as ours, _bot(elo, seed + 1) as theirs:
                for lead in leads:
                    fens = drawn[lead, elo]["fen"]
                    for number in range(start, min(start + _IN_TURN, numbers.stop, len(fens))):
                        _keep_score(kept, (ours, theirs), lead, elo, number, fens[number])
    return compared(drawn, kept.rows) | {"resign_pawns": MatchRules().resign_pawns}


def _keep_score(
    kept: Kept, bots: tuple[mp.Bot, mp.Bot], lead: int, elo: int, number: int, fen: str
) -> None:
    """Let two bots play a position on, the first with the move, unless its score is kept."""
    if kept.has(lead, elo, fen):
        return
    board = chess.Board(fen)
    for bot in bots:
        bot.new_game(number)
    players = dict(zip((board.turn, not board.turn), bots, strict=True))
    score = play_on(board, players, MatchRules().resign_pawns)
    row = {"lead": lead, "elo": elo, "fen": fen, "score": score}
    kept.add(row | {"plies": len(board.move_stack)})


RISE_ELOS = (1500, 1700, 1900, 2100, 2300, 2500)
DEFENDER = 2000
"""Who defends while the Elo of the side that is ahead rises."""


def rise(
    output: Path, data: Path, numbers: range, seed: int, leads: Sequence[int]
) -> dict[str, Any]:
    """Play the same won positions on at every Elo, against one defender."""
    kept = Kept(output / "rise.csv", ("lead", "elo", "fen"))
    drawn = dict(won_positions(data).group_by("lead", maintain_order=True))
    wanted = []
    for lead in leads:
        fens = drawn[(lead,)]["fen"]
        wanted += [(lead, number, fens[number]) for number in numbers if number < len(fens)]
    for start in range(0, len(wanted), 2 * _IN_TURN):
        part = wanted[start : start + 2 * _IN_TURN]
        for elo in RISE_ELOS:
            with _bot(elo, seed) as ours, _bot(DEFENDER, seed + 1) as theirs:
                for lead, number, fen in part:
                    _keep_score(kept, (ours, theirs), lead, elo, number, fen)
    return risen(kept.rows) | {"defender": DEFENDER}


def risen(played: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores by lead and Elo, and how they rise in the same positions.

    Parameters
    ----------
    played
        The games: `lead`, `elo`, `fen`, `score`. Only positions that every Elo has played count.
    """
    rows: list[dict[str, Any]] = []
    pooled: list[dict[str, Any]] = []
    for lead in sorted({row["lead"] for row in played}):
        scores: dict[str, dict[int, float]] = {}
        for row in played:
            if row["lead"] == lead:
                scores.setdefault(row["fen"], {})[row["elo"]] = row["score"]
        table = np.array(
            [
                [one[elo] for elo in RISE_ELOS]
                for one in scores.values()
                if len(one) == len(RISE_ELOS)
            ]
        )
        if len(table) < 2:
            continue
        ends = {"from": LEADS[lead][0] / 100, "to": LEADS[lead][1] / 100}
        for elo, column in zip(RISE_ELOS, table.T, strict=True):
            rows.append(
                ends
                | {"elo": elo, "games": len(column)}
                | {"score": _mean(column.tolist()), "se": _error(column.tolist())}
            )
        away = np.array(RISE_ELOS) - np.mean(RISE_ELOS)
        slopes = 1000 * table @ away / (away @ away)  # a line through the games of each position
        pooled.append(
            ends
            | {"positions": len(table), "rise": _mean(slopes.tolist())}
            | {"rise_se": _error(slopes.tolist())}
        )
    return {"rows": rows, "pooled": pooled}


_IN_TURN = 3
"""Positions of a cell that are played before the next cell's."""


def compared(
    drawn: Mapping[tuple[Any, ...], pl.DataFrame], played: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return bots beside people, by lead and Elo and pooled, and how the bots rise with Elo.

    Parameters
    ----------
    drawn
        By lead and Elo, people's positions (`fen`) and scores.
    played
        The games of the bots: `lead`, `elo`, `fen`, `score`.
    """
    rows = []
    for (lead, elo), part in sorted(drawn.items()):
        same = [row for row in played if (row["lead"], row["elo"]) == (lead, elo)]
        scores = {row["fen"]: row["score"] for row in same}
        if not scores:
            continue
        there = part.filter(pl.col("fen").is_in(list(scores)))
        apart = [scores[fen] - score for fen, score in there.select("fen", "score").iter_rows()]
        people, bots = part["score"].to_list(), list(scores.values())
        rows.append(
            {"from": LEADS[lead][0] / 100, "to": LEADS[lead][1] / 100, "elo": elo}
            | {"people_n": len(people), "people": _mean(people), "people_se": _error(people)}
            | {"bot_n": len(bots), "bot": _mean(bots), "bot_se": _error(bots)}
            | {"apart": _mean(apart), "apart_se": _error(apart)}
        )
    pooled = []
    for number, (low, high) in enumerate(LEADS):
        differences: list[float] = []
        elos: list[float] = []
        points: list[float] = []
        for game in played:
            if game["lead"] == number and (number, game["elo"]) in drawn:
                here = drawn[number, game["elo"]].filter(pl.col("fen") == game["fen"])
                differences.append(game["score"] - float(here["score"][0]))
                elos.append(float(game["elo"]))
                points.append(float(game["score"]))
        if len(set(elos)) < 2:
            continue
        rise, rise_se = _slope(elos, points)
        total, people_total = sum(points), sum(points) - sum(differences)
        pooled.append(
            {"from": low / 100, "to": high / 100, "games": len(points), "score": total}
            | {"people": people_total, "apart": _mean(differences)}
            | {"apart_se": _error(differences), "rise": 1000 * rise, "rise_se": 1000 * rise_se}
        )
    return {"rows": rows, "pooled": pooled}


def _slope(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Slope of a straight line with its standard error."""
    away = np.array(x) - np.mean(x)
    slope = float(away @ np.array(y) / (away @ away))
    rest = np.array(y) - np.mean(y) - slope * away
    return slope, float((rest @ rest / (len(y) - 2) / (away @ away)) ** 0.5)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _error(values: Sequence[float]) -> float:
    """Standard error of a mean, with two wins and two losses more where all are alike.

    A clean score of a few games has an error too, which its own scatter does not show.
    """
    seen = [*values, 0.0, 0.0, 1.0, 1.0] if len(set(values)) == 1 else list(values)
    return float(np.std(seen, ddof=1) / len(seen) ** 0.5)


def mates(output: Path, games: int) -> dict[str, Any]:
    """Mate with a rook and with a queen, from random positions."""
    kept = Kept(output / "mates.csv", ("piece", "elo", "game"))
    for elo in MATE_ELOS:
        with _bot(elo, 1) as ours, _bot(elo, 2) as other:
            for piece in (chess.ROOK, chess.QUEEN):
                chance = random.Random(5)
                name = chess.piece_name(piece)
                for number in range(games):
                    board = _bare_position(piece, chance)
                    if kept.has(name, elo, number):
                        continue
                    for bot in (ours, other):
                        bot.new_game(number)
                    score = play_on(board, {True: ours, False: other}, None)
                    moves = (len(board.move_stack) + 1) // 2
                    row = {"piece": name, "elo": elo, "game": number, "score": score}
                    kept.add(row | {"moves": moves})
    table = pl.DataFrame(kept.rows)
    rows = table.group_by("piece", "elo").agg(
        pl.len().alias("games"),
        (pl.col("score") == 1.0).sum().alias("mated"),
        pl.col("moves").mean().alias("mean_moves"),
        pl.col("moves").max().alias("most_moves"),
    )
    return {"rows": rows.sort("piece", "elo").to_dicts()}


PAWN_ELOS = (1500, 1600, 1800, 2000, 2400)


def pawns(output: Path, games: int, seed: int = 5) -> dict[str, Any]:
    """Win with king and pawn against king, from random positions that are won."""
    kept = Kept(output / "pawns.csv", ("elo", "game"))
    for elo in PAWN_ELOS:
        with _bot(elo, seed) as ours, _bot(elo, seed + 1) as other:
            chance = random.Random(seed)
            for number in range(games):
                board = won_pawn_position(chance)
                if kept.has(elo, number):
                    continue
                for bot in (ours, other):
                    bot.new_game(number)
                score = play_on(board, {True: ours, False: other}, None)
                kept.add({"elo": elo, "game": number, "score": score, "fen": board.root().fen()})
    rows = (
        pl.DataFrame(kept.rows)
        .group_by("elo")
        .agg(pl.len().alias("games"), (pl.col("score") == 1.0).sum().alias("won"))
    )
    return {"rows": rows.sort("elo").to_dicts()}


def won_pawn_position(chance: random.Random) -> chess.Board:
    """Return a random position of king and pawn against king that is won, whoever is to move.

    The king stands on a key square: two ranks before a pawn that is on its second to fourth rank
    and not on the edge, on its file or beside it. The bare king is not behind it.
    """
    while True:
        board = chess.Board(None)
        file, rank = chance.randrange(1, 7), chance.randrange(1, 4)
        key = chess.square(file + chance.choice((-1, 0, 1)), rank + 2)
        other = chance.randrange(8 * chess.square_rank(key), 64)
        if chess.square_distance(key, other) < 2:
            continue
        board.set_piece_at(chess.square(file, rank), chess.Piece(chess.PAWN, chess.WHITE))
        board.set_piece_at(key, chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(other, chess.Piece(chess.KING, chess.BLACK))
        return board


def _bare_position(piece: chess.PieceType, chance: random.Random) -> chess.Board:
    while True:
        squares = chance.sample(range(64), 3)
        board = chess.Board(None)
        board.set_piece_at(squares[0], chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(squares[1], chess.Piece(chess.KING, chess.BLACK))
        board.set_piece_at(squares[2], chess.Piece(piece, chess.WHITE))
        if board.is_valid() and not board.is_attacked_by(chess.BLACK, squares[2]):
            return board


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=("won", "rise", "mates", "pawns"))
    parser.add_argument("--output", type=Path, default=Path("bot-study"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="won: leave out so many of each cell")
    parser.add_argument("--positions", type=int, default=30, help="won: of each cell")
    parser.add_argument("--seed", type=int, default=1, help="of the bots in won positions")
    parser.add_argument("--leads", type=int, nargs="+", default=[0, 1], help="won: which of them")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    run: dict[str, Callable[[], dict[str, Any]]] = {
        "won": lambda: won(
            given.output,
            given.data,
            range(given.first, given.first + given.positions),
            given.seed,
            given.leads,
        ),
        "rise": lambda: rise(
            given.output,
            given.data,
            range(given.first, given.first + given.positions),
            given.seed,
            given.leads,
        ),
        "pawns": lambda: pawns(given.output, given.games),
        "mates": lambda: mates(given.output, given.games),
    }
    found = run[given.part]()
    BOT.keep(given.part, found)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=140):
        sys.stdout.write(f"{pl.DataFrame(found['rows'])}\n")


if __name__ == "__main__":
    main()
