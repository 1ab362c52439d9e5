"""Simulated games with known truth: tables of decisions, and a whole folder of PGN and evaluations.

Nothing here is chess that anybody played: moves are legal, their values are drawn at random, and
the mover chooses as an agent of known s and c would.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess
import numpy as np
import polars as pl

from milepost.analysis.engine.setup import EngineSetup
from milepost.analysis.store.positions import stored_position
from milepost.analysis.store.store import EvaluationStore
from milepost.choice import Agent, Spreads

LINE = (-1.7, -0.0012)
"""ln s of the simulated players = LINE[0] + LINE[1] × (Elo - 2150): steeper than people's."""
C = 0.55
DEPTHS = 4
BOOK_PLIES = 16


def true_agent(elo: float) -> Agent:
    """The simulated player of an Elo."""
    return Agent(math.exp(LINE[0] + LINE[1] * (elo - 2150)), C)


def draw_values(rng: np.random.Generator, number: int) -> np.ndarray:
    """Values at each depth, one row a move, the best move first at the last depth; in pawns."""
    best = float(np.clip(rng.normal(0.0, 0.8), -2.9, 2.9))
    gaps = rng.exponential(0.12, number - 1) * rng.gamma(0.7, 1.4, number - 1)
    final = best - np.concatenate([[0.0], np.cumsum(gaps)])
    noise = rng.normal(0.0, 1.0, (number, DEPTHS)) * np.linspace(0.6, 0.0, DEPTHS)
    return np.round(final[:, None] + noise, 2)


def choose(rng: np.random.Generator, agent: Agent, values: np.ndarray) -> int:
    """One choice under powers, solved by bisection: independent of the package's own solver."""
    scaled = np.sign(values) * np.log1p(np.abs(values))
    delta = scaled[0] - np.sign(kept := np.maximum(values, values[0] - 4)) * np.log1p(np.abs(kept))
    delta[1:][values[1:] == values[0]] = 0.03
    a = np.exp(np.minimum((delta / agent.s) ** agent.c, 30.0))
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if np.exp(-a * middle).sum() > 1:
            low = middle
        else:
            high = middle
    p = np.exp(-a * low)
    return int(rng.choice(len(p), p=p / p.sum()))


def make_table(
    levels: list[float],
    turns: int,
    seed: int,
    *,
    agent: Callable[[float], Any] = true_agent,
    period: str = "2011-2014",
    per_game: int = 4,
    ties: float = 0.0,
) -> pl.DataFrame:
    """Decisions of each milepost in the columns that the experiments read, made without games.

    Parameters
    ----------
    agent
        The chooser of an Elo: anything with `simulate`.
    ties
        Share of decisions whose two best moves are made equal.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for level in levels:
        tables = [draw_values(rng, int(rng.integers(2, 20))) for _ in range(turns)]
        for table in tables:
            if rng.random() < ties and len(table) > 1:
                table[1, -1] = table[0, -1]
        games = [f"{period} {level} {place // per_game}" for place in range(turns)]
        spreads = Spreads.from_lists(
            [table[:, -1].tolist() for table in tables],
            [0] * turns,
            groups=games,
            rating=[level] * turns,
            depth_values=[table.tolist() for table in tables],
        )
        chosen = agent(level).simulate(spreads, rng).chosen
        count = np.arange(turns)
        parts.append(
            pl.DataFrame(
                {
                    "game_id": games,
                    "ply": count.astype(np.int32),
                    "mover_elo": [round(level)] * turns,
                    "values": [table[:, -1].tolist() for table in tables],
                    "chosen": chosen,
                    "depth_values": [table.T.tolist() for table in tables],
                    "phase": np.array(["opening", "middlegame", "endgame"])[count % 3].tolist(),
                    "score": np.array([1.0, 0.5, 0.0])[(count // per_game) % 3],
                    "move_number": 9 + count % 40,
                    "period": [period] * turns,
                    "milepost": [level] * turns,
                }
            )
        )
    return pl.concat(parts).with_columns(
        pl.lit(None, dtype=pl.String).alias("group"),
        pl.lit("x").alias("mover"),
        pl.lit(None, dtype=pl.List(pl.Boolean)).alias("shallow"),
        pl.lit(1.0).alias("weight"),
        pl.lit(False).alias("premature_draw"),
        pl.lit(0, dtype=pl.Int32).alias("unlisted"),
    )


def play_game(
    rng: np.random.Generator, agent: Agent, plies: int, setup: str
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """The moves of one game in SAN, the clocks, and the evaluations of its positions after book."""
    board = chess.Board()
    moves: list[str] = []
    rows: list[dict[str, Any]] = []
    while len(moves) < plies and not board.is_game_over(claim_draw=False):
        legal = list(board.legal_moves)
        order = rng.permutation(len(legal))
        listed = [legal[place] for place in order]
        picked = 0
        if len(moves) >= BOOK_PLIES and len(legal) > 1:
            values = draw_values(rng, len(legal))
            picked = choose(rng, agent, values[:, -1])
            cp = np.round(100 * values.T).astype(int).tolist()
            rows.append(
                {
                    "position": stored_position(board.fen(en_passant="legal")),
                    "played": None,
                    "setup": setup,
                    "moves": [move.uci() for move in listed],
                    "cp": cp,
                    "mate": [[None] * len(listed) for _ in range(DEPTHS)],
                    "nodes": 1,
                }
            )
        moves.append(board.san_and_push(listed[picked]))
    clocks = [f"0:{9 - 9 * place // plies:02d}:30" for place in range(len(moves))]
    return moves, clocks, rows


def write_games(
    path: Path, elos: list[float], games: int, seed: int, setup: str, **tags: str
) -> list[dict[str, Any]]:
    """Write a PGN file of simulated games; return the evaluations of their positions."""
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    text, found = [], []
    for number in range(games):
        elo = elos[number % len(elos)]
        moves, clocks, rows = play_game(rng, true_agent(elo), 56, setup)
        found += rows
        result = ("1-0", "0-1", "1/2-1/2")[number % 3]
        header = {
            # Names, days and rounds of their own: games alike in these count as one.
            "Event": path.stem, "Site": "?", "Date": f"2012.{seed % 12 + 1:02d}.{number + 1:02d}",
            "Round": f"{seed}.{number}",
            "White": f"{_name(seed, number)}white, A", "Black": f"{_name(seed, number)}black, B",
            "Result": result, "WhiteElo": f"{elo:.0f}", "BlackElo": f"{elo:.0f}", **tags,
        }  # fmt: skip
        text += [f'[{name} "{value}"]' for name, value in header.items()]
        text += ["", _movetext(moves, clocks, result), ""]
    path.write_text("\n".join(text), encoding="utf-8")
    return found


def _name(seed: int, number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in f"{seed}{number:02d}")


def _movetext(moves: list[str], clocks: list[str], result: str) -> str:
    words = []
    for place, (move, clock) in enumerate(zip(moves, clocks, strict=True)):
        number = f"{place // 2 + 1}. " if place % 2 == 0 else f"{place // 2 + 1}... "
        words.append(f"{number}{move} {{[%clk {clock}]}}")
    return " ".join([*words, result])


def make_folder(root: Path, levels: list[float], games: int) -> tuple[Path, Path]:
    """A folder of mileposts of two periods, a server's games and engines' games, and its store."""
    data, store = root / "data", EvaluationStore(root / "store", create=True)
    setup = EngineSetup("Simulated", "", (), "quick depth 4 width 256")
    store.add_setup(setup)
    key = setup.digest
    seed = 100
    for level in levels:
        seed += 1
        name = data / "mileposts" / "2011-2014" / f"{level:.0f}.pgn"
        store.append(write_games(name, [level], games, seed, key))
    for level in levels[2:4]:
        seed += 1
        name = data / "mileposts" / "2006-2009" / f"{level:.0f}.pgn"
        store.append(write_games(name, [level], games, seed, key))
    for speed, control in (("rapid", "900+10"), ("blitz", "180+2")):
        seed += 1
        name = data / "lichess" / f"{speed}.pgn"
        rows = write_games(name, [levels[1]], 6, seed, key, TimeControl=control)
        store.append(rows)
    store.append(write_games(data / "engines" / "engines.pgn", [3300.0], 6, seed + 1, key))
    return data, store.folder
