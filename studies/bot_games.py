"""What the bot does in games: its rating by another plan, the ladder, variety, real clocks.

    python -m studies.bot_games rules   [--data ../shared/data] [--turns 1500] [--plan blitz]
    python -m studies.bot_games ladder  --output DIR [--games 4]
    python -m studies.bot_games judge   --output DIR [--turns 600] [--pgn MORE.pgn]
    python -m studies.bot_games variety
    python -m studies.bot_games clients --output DIR [--games 100]

Without `--plan` every bot plays by the cheapest plan that can play at its Elo. *rules*: moves drawn
as the bots would play them, on turns of two events that quick has evaluated, rated by quick; no
engine is needed, but the positions are people's, not the bots'. *ladder*: a round
robin of bots 200 apart; one scale factor is fitted to all scores. *judge*: the same games, rated by
the plan quick, which did not choose the moves; turns that bullet sees as decided are not evaluated
by quick, since ratings leave them out. *variety*: different positions at half-move 20. *clients*:
games at 10+0.1 through python-chess, whose clock is the judge. All that takes long is kept and
resumed. Won positions and mates: `studies.bot_endings`.

What was found goes into ``studies/figures/bot.json``, from which ``python -m studies.bot_tables``
writes the tables of docs/play.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import chess.engine
import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar
from studies.bot_endings import over
from studies.bot_likeness import JUDGE, as_played
from studies.figure_file import BOT

import milepost as mp
from milepost.api.minds import cheapest_plan
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.io.progress import Progress

ELOS = (1600, 1800, 2000, 2200, 2400, 2600)


def _tell(news: Progress) -> None:
    sys.stderr.write(f"\r{news.done} of {news.total} {news.note}   ")
    sys.stderr.flush()


EVENTS = ("1919_fsfm2018.pgn", "2311_cccsa_im2016.pgn")
"""Events that quick has evaluated whole; no playing map was made of them."""


def rules(data: Path, turns: int, plan: str | None, seed: int = 14) -> dict[str, Any]:
    """Draw moves as the bots would play them on people's turns, and rate the draws by quick."""
    files = [data / "events" / name for name in EVENTS]
    read, _ = mp.read_turns(files)
    usable = read.filter(pl.col("ply") >= 16)
    hashes = [zlib.crc32(fen.encode()) for fen in usable["position"]]
    drawn = usable.with_columns(pl.Series("hash", hashes)).sort("hash").drop("hash").head(turns)
    found = mp.decisions(drawn, data / "analysis" / "events", plan="quick")
    spreads = replace(Spreads.from_table(found.table), places=None)
    rng = np.random.default_rng(seed)
    parts = []
    for elo in ELOS:
        shares = as_played(spreads, plan or cheapest_plan(elo), np.full(len(spreads), float(elo)))
        edges = np.cumsum(shares)
        starts = np.concatenate([[0.0], edges[spreads.offsets[1:-1] - 1]])
        places = np.searchsorted(edges, starts + rng.random(len(spreads)) * (1 - 1e-9))
        chosen = np.clip(places - spreads.offsets[:-1], 0, spreads.counts - 1)
        parts.append(
            found.table.with_columns(
                pl.Series("chosen", chosen).cast(found.table["chosen"].dtype),
                pl.lit(f"bot {elo}").alias("mover"),
                pl.lit(f"bot {elo}").alias("mover_name"),
                pl.lit(elo).cast(found.table["mover_elo"].dtype).alias("mover_elo"),
            )
        )
    return _rated(replace(found, table=pl.concat(parts)), plan)


def ladder(
    output: Path, games: int, workers: int, plan: str | None, played: Sequence[Path] = ()
) -> dict[str, Any]:
    """Play the round robin, or take games that were played; fit one factor to the Elo formula."""
    if played:
        parts = {path.stem: mp.read_games(path)[0] for path in played}
        counts = {name: len(part) for name, part in parts.items()}
        return standing(pl.concat(parts.values())) | {"files": counts}
    contenders = [f"--elo {elo}" + (f" --plan {plan}" if plan else "") for elo in ELOS]
    path = ladder_path(output, plan)
    if not path.exists():
        mp.match(contenders, path, games=games, seed=14, workers=workers, progress=_tell)
    table, _ = mp.read_games(path)
    return standing(table)


def ladder_path(output: Path, plan: str | None) -> Path:
    """Return where the games of the round robin are."""
    return output / f"ladder-{plan or 'cheapest'}.pgn"


def standing(games: pl.DataFrame) -> dict[str, Any]:
    """Return scores by Elo and by pair, and the scale factor with its standard error."""
    white = games["white_elo"].to_numpy().astype(float)
    black = games["black_elo"].to_numpy().astype(float)
    score = games["result"].replace_strict(
        {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}, return_dtype=pl.Float64
    )
    won = score.to_numpy()

    def expected(scale: float, gap: Floats) -> Floats:
        answer: Floats = 1 / (1 + 10 ** (-scale * gap / 400))
        return answer

    def loss(scale: float) -> float:
        p = expected(scale, white - black)
        return -float((won * np.log(p) + (1 - won) * np.log(1 - p)).sum())

    scale = float(minimize_scalar(loss, bounds=(-1, 3), method="bounded").x)
    step = 0.01
    curvature = (loss(scale + step) - 2 * loss(scale) + loss(scale - step)) / step**2
    elos = sorted({*white.tolist(), *black.tolist()})
    rows = []
    for elo in elos:
        mine = np.concatenate([won[white == elo], 1 - won[black == elo]])
        gaps = np.concatenate([(white - black)[white == elo], (black - white)[black == elo]])
        error = float(mine.std(ddof=1) / len(mine) ** 0.5)
        told = {"elo": round(elo), "games": len(mine), "score": float(mine.mean()), "se": error}
        rows.append(told | {"expected": float(expected(scale, gaps).mean())})
    pairs = []
    for low, high in itertools.combinations(elos, 2):
        stronger = np.concatenate(
            [won[(white == high) & (black == low)], 1 - won[(white == low) & (black == high)]]
        )
        p = float(expected(scale, np.array([high - low]))[0])
        pairs.append(
            {"low": round(low), "high": round(high), "games": len(stronger)}
            | {"score": float(stronger.sum()), "expected": p * len(stronger)}
            # Draws make scores vary less than this, so it errs on the wide side.
            | {"expected_se": float((p * (1 - p) * len(stronger)) ** 0.5)}
        )
    found = {"games": len(games), "scale": scale, "scale_se": curvature**-0.5}
    return found | {"plies": int(games["plies"].sum()), "rows": rows, "pairs": pairs}


def judge(
    output: Path, turns: int, workers: int, plan: str | None = None,
    more: Sequence[Path] = (), most: Mapping[int, int] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Rate the bots of the ladder, and of more games, by quick, on turns drawn by hash.

    `most` gives some bots another number of turns: the same interval takes more turns at one Elo
    than at another.
    """
    everything, _ = mp.read_turns([ladder_path(output, plan), *more])
    store = output / "bullet-store"
    mp.analyse(everything, store, "bullet", workers=workers, progress=_tell)
    near = mp.decisions(everything, store).table.select("game_id", "ply")
    usable = everything.join(near, on=["game_id", "ply"], how="semi")
    keys = usable.select("game_id", "ply").iter_rows()
    hashes = [zlib.crc32(f"{game} {ply}".encode()) for game, ply in keys]
    drawn = (
        usable.with_columns(pl.Series("hash", hashes))
        .sort("hash")
        .with_columns(pl.int_range(pl.len()).over("mover").alias("rank"))
        .filter(
            pl.col("rank")
            < pl.col("mover_elo").replace_strict(most or {}, default=turns, return_dtype=pl.Int64)
        )
        .sort("rank", "mover")
        .drop("hash", "rank")
    )
    store = output / "quick-store"
    mp.analyse(drawn, store, "quick", workers=workers, progress=_tell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        found = mp.decisions(everything, store)
    return _rated(found, plan)


def _rated(found: mp.Decisions, plan: str | None) -> dict[str, Any]:
    """What quick says of each bot, and the slope of that on the target."""
    rated = mp.rate(found, calibration=load_calibration(JUDGE)).table
    rated = rated.filter(pl.col("rating").is_not_null())
    rated = rated.with_columns(pl.col("elo").alias("target")).sort("target")
    x = rated["target"].to_numpy().astype(float)
    y = rated["rating"].to_numpy()
    se = (rated["high"] - rated["low"]).to_numpy() / (2 * 1.96)
    weight = 1 / se**2
    centre = (weight * x).sum() / weight.sum()
    slope = (weight * (x - centre) * y).sum() / (weight * (x - centre) ** 2).sum()
    slope_se = (1 / (weight * (x - centre) ** 2).sum()) ** 0.5
    inside = int(((rated["low"].to_numpy() <= x) & (x <= rated["high"].to_numpy())).sum())
    rows = [
        row | {"plan": plan or cheapest_plan(row["target"])}
        for row in rated.select("target", "rating", "low", "high", "n", "games").to_dicts()
    ]
    summary = {"inside": inside, "slope": float(slope), "slope_se": float(slope_se)}
    return summary | {"mean_error": float((y - x).mean()), "rows": rows}


def variety(games: int = 20, plies: int = 20) -> dict[str, Any]:
    """Count different positions at half-move 20, and whether a seed repeats its game."""

    def play(bot: mp.Bot, number: int) -> str:
        board = chess.Board()
        bot.new_game(number)
        while board.ply() < plies:
            board.push(bot.choose(board))
        return board.fen()

    rows = []
    for elo in (ELOS[0], ELOS[-1]):
        plan = cheapest_plan(elo)
        with mp.Bot(elo, seed=3, plan=plan) as bot:
            positions = [play(bot, number) for number in range(games)]
        with mp.Bot(elo, seed=3, plan=plan) as other:
            again = [play(other, number) for number in range(games)]
        same = sum(first == second for first, second in zip(positions, again, strict=True))
        told = {"elo": elo, "plan": plan, "games": games, "plies": plies}
        rows.append(told | {"different": len(set(positions)), "same_again": same})
    return {"rows": rows}


def clients(output: Path, games: int, plan: str | None) -> dict[str, Any]:
    """Play at 10+0.1 through python-chess; its clock decides about time losses.

    Every game that is over is a line of a file, so that the study can be stopped and goes on.
    """
    path = output / f"clients-{plan or 'usual'}.csv"
    done = pl.read_csv(path).height if path.exists() else 0
    command = [sys.executable, "-m", "milepost", "play", *(["--plan", plan] if plan else [])]
    with (
        chess.engine.SimpleEngine.popen_uci([*command, "--elo", "1700"], timeout=600) as white,
        chess.engine.SimpleEngine.popen_uci([*command, "--elo", "2200"], timeout=600) as black,
    ):
        for engine in (white, black):
            engine.ping()
        for number in range(done, games):
            row = _timed_game(white, black, number)
            rows = [pl.read_csv(path)] if path.exists() else []
            pl.concat([*rows, pl.DataFrame([row])]).write_csv(path)
            sys.stderr.write(f"{number + 1} of {games}: {row}\n")
    table = pl.read_csv(path)
    sums = ("plies", "time_loss", "illegal", "bullet", "blitz", "quick", "other")
    found: dict[str, Any] = {"games": table.height} | table.select(sums).sum().to_dicts()[0]
    lowest = float(table["lowest_clock"].to_numpy().min())
    return found | {"longest": float(table["longest"].to_numpy().max()), "lowest_clock": lowest}


def _timed_game(
    white: chess.engine.SimpleEngine, black: chess.engine.SimpleEngine, number: int
) -> dict[str, float]:
    board = chess.Board()
    clocks = {chess.WHITE: 10.0, chess.BLACK: 10.0}
    row: dict[str, float] = {"game": number, "plies": 0, "time_loss": 0, "illegal": 0}
    row |= {"longest": 0.0, "lowest_clock": 10.0}
    row |= {"bullet": 0, "blitz": 0, "quick": 0, "other": 0}
    while not over(board) and board.ply() < 300:
        limit = chess.engine.Limit(
            white_clock=clocks[chess.WHITE], black_clock=clocks[chess.BLACK],
            white_inc=0.1, black_inc=0.1,
        )  # fmt: skip
        engine = white if board.turn else black
        began = time.monotonic()
        try:
            answer = engine.play(board, limit, game=number, info=chess.engine.INFO_ALL)
        except chess.engine.EngineError:
            row["illegal"] += 1
            break
        spent = time.monotonic() - began
        row["longest"] = round(max(row["longest"], spent), 3)
        clocks[board.turn] -= spent
        row["lowest_clock"] = round(min(row["lowest_clock"], clocks[board.turn]), 3)
        if clocks[board.turn] <= 0:
            row["time_loss"] += 1
            break
        clocks[board.turn] += 0.1
        words = str(answer.info.get("string", "")).split()
        by = words[words.index("plan") + 1] if "plan" in words else "other"
        row[by if by in row else "other"] += 1
        assert answer.move is not None
        board.push(answer.move)
        row["plies"] += 1
    return row


def _pair(text: str) -> tuple[int, int]:
    elo, turns = text.split("=")
    return int(elo), int(turns)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("part", choices=("rules", "ladder", "judge", "variety", "clients"))
    parser.add_argument("--output", type=Path, default=Path("bot-study"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument(
        "--most", type=_pair, nargs="+", default=[], metavar="ELO=TURNS",
        help="judge: another number of turns for some bots",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--pgn",
        type=Path,
        nargs="+",
        default=[],
        help="ladder: games at hand; judge: more games of the bots",
    )
    parser.add_argument("--plan", help="of all bots [default: the cheapest that will do]")
    given = parser.parse_args()
    output, plan = given.output, given.plan
    output.mkdir(parents=True, exist_ok=True)
    if given.part == "rules":
        found = rules(given.data, given.turns, plan)
    elif given.part == "ladder":
        found = ladder(output, given.games, given.workers, plan, given.pgn)
    elif given.part == "judge":
        found = judge(output, given.turns, given.workers, plan, given.pgn, dict(given.most))
    elif given.part == "variety":
        found = variety()
    else:
        found = clients(output, given.games, plan)
    BOT.keep(f"{given.part} {plan}" if plan else given.part, found)
    tables = {name: rows for name, rows in found.items() if isinstance(rows, list)}
    told = {name: value for name, value in found.items() if name not in tables}
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=140):
        for rows in tables.values():
            sys.stdout.write(f"{pl.DataFrame(rows)}\n")
    sys.stdout.write(f"{told}\n")


if __name__ == "__main__":
    main()
