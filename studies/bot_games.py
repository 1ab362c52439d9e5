"""What the bot does in games: its rating by another plan, the ladder, won positions, variety.

    python -m studies.bot_games rules   --data ../shared/data [--turns 600]
    python -m studies.bot_games ladder  --output DIR [--games 8] [--plan quick]
    python -m studies.bot_games judge   --output DIR [--turns 600]
    python -m studies.bot_games won     --output DIR --data ../shared/data [--positions 15]
    python -m studies.bot_games mates   --output DIR [--games 10]
    python -m studies.bot_games variety --output DIR
    python -m studies.bot_games clients --output DIR [--games 100]

Without `--plan` every bot plays by the cheapest plan that can play at its Elo. *rules*: moves drawn
as the bots would play them, on turns of two events that quick has evaluated, rated by quick; no
engine is needed, but the positions are people's, not the bots'. *ladder*: a round
robin of bots 200 apart; one scale factor is fitted to all scores. *judge*: the same games, rated by
the plan quick, which did not choose the moves. *won*:
positions of people's games where one side stands at +3 or +5 for the first time, played on by bots
of the same Elo, beside what people scored. *mates*: rook or queen against the bare king, from
random positions. *variety*: different positions at half-move 20. *clients*: games at 10+0.1 through
python-chess, whose clock is the judge. All that takes long is kept and resumed.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import chess
import chess.engine
import numpy as np
import polars as pl
from scipy.optimize import minimize_scalar

import milepost as mp
from milepost.api.minds import bot_plan, cheapest_plan
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.choosing.judge import normalised
from milepost.intrinsic.choosing.playing import playing_maps
from milepost.io.progress import Progress

JUDGE = "stockfish15.1-quick"
ELOS = (1600, 1800, 2000, 2200, 2400, 2600)


def _tell(news: Progress) -> None:
    sys.stderr.write(f"\r{news.done} of {news.total} {news.note}   ")
    sys.stderr.flush()


EVENTS = ("1919_fsfm2018.pgn", "2311_cccsa_im2016.pgn")
"""Events that quick has evaluated whole; no playing map was made of them."""


def rules(data: Path, turns: int, plan: str | None, seed: int = 14) -> None:
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
        shares = as_played(spreads, plan or cheapest_plan(elo), elo)
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
    _show_rated(replace(found, table=pl.concat(parts)))


def as_played(spreads: Spreads, plan: str, elo: float) -> Floats:
    """Return how the bot of a plan plays turns that quick has evaluated, all turns at once."""
    setup = next((each for each in playing_maps().values() if each.made["plan"] == plan), None)
    path = load_calibration(JUDGE if setup is None else setup.agents).map.path
    agent, sharpness = (elo, 1.0) if setup is None else setup.rule(elo)
    cut = spreads.to_depth(bot_plan(plan).depth)
    assert cut.depth_values is not None
    assert path.model.depths is not None
    missing = max(path.model.depths.depths) - cut.depth_values.shape[1]
    table = np.hstack([cut.depth_values, np.repeat(cut.depth_values[:, -1:], missing, axis=1)])
    seen = replace(cut, depth_values=table, depths=tuple(range(1, table.shape[1] + 1)))
    ln_p = ln_probabilities(path.model, prepare(seen, path.model), path.theta([agent]))
    shares = normalised(ln_p, seen, sharpness)
    return shares if cut is spreads else seen.as_given(shares)


def ladder(output: Path, games: int, workers: int, plan: str | None = None) -> None:
    """Play the round robin, and fit one scale factor to the Elo formula."""
    contenders = [f"--elo {elo}" + (f" --plan {plan}" if plan else "") for elo in ELOS]
    path = output / f"ladder-{plan or 'cheapest'}.pgn"
    if not path.exists():
        mp.match(contenders, path, games=games, seed=14, workers=workers, progress=_tell)
    table, _ = mp.read_games(path)
    show_ladder(table)


def show_ladder(games: pl.DataFrame) -> None:
    """Print scores by Elo, and the scale factor with its standard error."""
    gap = (games["white_elo"] - games["black_elo"]).to_numpy().astype(float)
    score = games["result"].replace_strict(
        {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}, return_dtype=pl.Float64
    )
    won = score.to_numpy()

    def loss(scale: float) -> float:
        p = 1 / (1 + 10 ** (-scale * gap / 400))
        return -float((won * np.log(p) + (1 - won) * np.log(1 - p)).sum())

    scale = float(minimize_scalar(loss, bounds=(-1, 3), method="bounded").x)
    step = 0.01
    curvature = (loss(scale + step) - 2 * loss(scale) + loss(scale - step)) / step**2
    sys.stdout.write(f"{len(games)} games; scale {scale:.3f} ± {curvature**-0.5:.3f}\n")
    rows = []
    for elo in sorted(set(games["white_elo"])):
        mine = np.concatenate(
            [
                won[(games["white_elo"] == elo).to_numpy()],
                1 - won[(games["black_elo"] == elo).to_numpy()],
            ]
        )
        error = mine.std(ddof=1) / len(mine) ** 0.5
        rows.append({"elo": elo, "games": len(mine), "score": mine.mean(), "se": error})
    sys.stdout.write(f"{pl.DataFrame(rows)}\n")


def judge(output: Path, turns: int, workers: int, plan: str | None = None) -> None:
    """Rate the bots of the ladder by quick, on turns drawn by hash, as many of each."""
    path = output / f"ladder-{plan or 'cheapest'}.pgn"
    everything, _ = mp.read_turns(path)
    usable = everything.filter(
        (pl.col("ply") >= 16) & ~pl.col("only_move").fill_null(False)
        & ~pl.col("repetition").fill_null(False)
    )  # fmt: skip
    keys = usable.select("game_id", "ply").iter_rows()
    hashes = [zlib.crc32(f"{game} {ply}".encode()) for game, ply in keys]
    drawn = (
        usable.with_columns(pl.Series("hash", hashes))
        .sort("hash")
        .with_columns(pl.int_range(pl.len()).over("mover").alias("rank"))
        .filter(pl.col("rank") < turns)
        .sort("rank", "mover")
        .drop("hash", "rank")
    )
    store = output / "quick-store"
    mp.analyse(drawn, store, "quick", workers=workers, progress=_tell)
    show_ratings(everything, store)


def show_ratings(turns: pl.DataFrame, store: Path) -> None:
    """Print what quick says of each bot, and the slope of that on the target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        found = mp.decisions(turns, store)
    _show_rated(found)


def _show_rated(found: mp.Decisions) -> None:
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
    with pl.Config(tbl_cols=-1, tbl_width_chars=140):
        sys.stdout.write(f"{rated.select('target', 'rating', 'low', 'high', 'n', 'games')}\n")
    sys.stdout.write(
        f"target inside the interval: {inside} of {len(rated)}; slope {slope:.2f} ± "
        f"{slope_se:.2f}; mean error {float((y - x).mean()):+.0f}\n"
    )


def won_positions(data: Path, limit_cp: int) -> pl.DataFrame:
    """Return the first turn of each game and side that stands at the limit, with its score."""
    frame = pl.read_parquet(data / "analysis" / "whole_games.parquet")
    best = pl.col("cp").list.last().list.first()
    white = pl.col("fen").str.contains(" w ", literal=True)
    score = (
        pl.when(pl.col("result") == "1/2-1/2")
        .then(0.5)
        .when((pl.col("result") == "1-0") == white)
        .then(1.0)
        .otherwise(0.0)
    )
    return (
        frame.with_columns(best.alias("best"), white.alias("white"), score.alias("score"))
        .filter(pl.col("best").is_between(limit_cp, limit_cp + 300))
        .sort("period", "milepost", "game", "ply")
        .unique(["period", "milepost", "game", "white"], keep="first", maintain_order=True)
    )


def won(output: Path, data: Path, positions: int, plan: str | None = None) -> None:
    """Play won positions on, and compare with what people scored in them."""
    rows = []
    for limit in (300, 500):
        table = won_positions(data, limit)
        for elo in (2000, 2200, 2400, 2600):
            people = table.filter(pl.col("milepost") == elo)
            drawn = sorted(people["fen"], key=lambda fen: zlib.crc32(fen.encode()))[:positions]
            scores = _play_on(drawn, elo, plan)
            rows.append(_compared(limit / 100, elo, people["score"].to_list(), scores))
            sys.stderr.write(f"{rows[-1]}\n")
    frame = pl.DataFrame(rows)
    frame.write_csv(output / "won.csv")
    sys.stdout.write(f"{frame}\n")


def _compared(
    pawns: float, elo: int, people: Sequence[float], bots: Sequence[float]
) -> dict[str, float]:
    def error(values: Sequence[float]) -> float:
        return float(np.std(values, ddof=1) / len(values) ** 0.5)

    return {
        "pawns": pawns,
        "elo": elo,
        "people_n": len(people),
        "people": float(np.mean(people)),
        "people_se": error(people),
        "bot_n": len(bots),
        "bot": float(np.mean(bots)),
        "bot_se": error(bots),
    }


def _bot(elo: float, seed: int, plan: str | None) -> mp.Bot:
    """A bot without a book, by a plan or the cheapest that can play at its Elo."""
    return mp.Bot(elo, book=None, seed=seed, plan=plan or cheapest_plan(elo))


def _play_on(
    fens: Sequence[str], elo: float, plan: str | None = None, most: int = 200
) -> list[float]:
    """The scores of the side to move, with bots of one Elo on both sides."""
    scores = []
    with _bot(elo, 1, plan) as ours, _bot(elo, 2, plan) as theirs:
        for number, fen in enumerate(fens):
            board = chess.Board(fen)
            mover = board.turn
            ours.new_game(number)
            theirs.new_game(number)
            while not _over(board) and len(board.move_stack) < most:
                bot = ours if board.turn == mover else theirs
                board.push(bot.choose(board))
            mated = board.is_checkmate()
            scores.append(0.5 if not mated else float(board.turn != mover))
    return scores


def _over(board: chess.Board) -> bool:
    return board.outcome() is not None or board.is_repetition(3) or board.is_fifty_moves()


def mates(output: Path, games: int, plan: str | None = None) -> None:
    """Mate with a rook and with a queen, from random positions."""
    rows = []
    for piece in (chess.ROOK, chess.QUEEN):
        for elo in (1500, 1800, 2100, 2400):
            chance = random.Random(5)
            scores, moves = [], []
            with _bot(elo, 1, plan) as ours, _bot(elo, 2, plan) as other:
                for number in range(games):
                    board = _bare_position(piece, chance)
                    ours.new_game(number)
                    other.new_game(number)
                    while not _over(board):
                        board.push((ours if board.turn else other).choose(board))
                    scores.append(board.is_checkmate())
                    moves.append(len(board.move_stack) // 2 + 1)
            rows.append(
                {
                    "piece": chess.piece_name(piece), "elo": elo, "games": games,
                    "mated": sum(scores), "most_moves": max(moves), "mean_moves": np.mean(moves),
                }
            )  # fmt: skip
            sys.stderr.write(f"{rows[-1]}\n")
    frame = pl.DataFrame(rows)
    frame.write_csv(output / "mates.csv")
    sys.stdout.write(f"{frame}\n")


def _bare_position(piece: chess.PieceType, chance: random.Random) -> chess.Board:
    while True:
        squares = chance.sample(range(64), 3)
        board = chess.Board(None)
        board.set_piece_at(squares[0], chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(squares[1], chess.Piece(chess.KING, chess.BLACK))
        board.set_piece_at(squares[2], chess.Piece(piece, chess.WHITE))
        if board.is_valid() and not board.is_attacked_by(chess.BLACK, squares[2]):
            return board


def variety(games: int = 20, plies: int = 20) -> None:
    """Count different positions at half-move 20, and whether a seed repeats its game."""

    def play(number: int) -> str:
        board = chess.Board()
        bot.new_game(number)
        while board.ply() < plies:
            board.push(bot.choose(board))
        return board.fen()

    with mp.Bot(1800, seed=3, plan=cheapest_plan(1800)) as bot:
        positions = [play(number) for number in range(games)]
        again = play(0)
    same = "yes" if again == positions[0] else "no"
    sys.stdout.write(
        f"{games} games: {len(set(positions))} different positions at half-move {plies}; "
        f"the same seed gives the same game: {same}\n"
    )


def clients(output: Path, games: int, plan: str | None) -> None:
    """Play at 10+0.1 through python-chess; its clock decides about time losses.

    Every game that is over is a line of a file, so that the study can be stopped and goes on.
    """
    path = output / f"clients-{plan or 'usual'}.csv"
    done = pl.read_csv(path).height if path.exists() else 0
    command = [sys.executable, "-m", "milepost", "play", *(["--plan", plan] if plan else [])]
    with (
        chess.engine.SimpleEngine.popen_uci([*command, "--elo", "1700"], timeout=120) as white,
        chess.engine.SimpleEngine.popen_uci([*command, "--elo", "2200"], timeout=120) as black,
    ):
        for engine in (white, black):
            engine.ping()
        for number in range(done, games):
            row = _timed_game(white, black, number)
            rows = [pl.read_csv(path)] if path.exists() else []
            pl.concat([*rows, pl.DataFrame([row])]).write_csv(path)
            sys.stderr.write(f"{number + 1} of {games}: {row}\n")
    table = pl.read_csv(path)
    sys.stdout.write(
        f"{table.height} games at 10+0.1 ({plan or 'usual plan'}), {table['plies'].sum()} "
        f"half-moves: {table['time_loss'].sum()} time losses, {table['illegal'].sum()} illegal "
        f"moves; the longest move took {float(table['longest'].to_numpy().max()):.2f} s; "
        "moves by plan: "
        f"{table.select('bullet', 'blitz', 'quick', 'other').sum().to_dicts()[0]}\n"
    )


def _timed_game(
    white: chess.engine.SimpleEngine, black: chess.engine.SimpleEngine, number: int
) -> dict[str, float]:
    board = chess.Board()
    clocks = {chess.WHITE: 10.0, chess.BLACK: 10.0}
    row: dict[str, float] = {"game": number, "plies": 0, "time_loss": 0, "illegal": 0}
    row["longest"] = 0.0
    row |= {"bullet": 0, "blitz": 0, "quick": 0, "other": 0}
    while not _over(board) and board.ply() < 300:
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


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parts = ("rules", "ladder", "judge", "won", "mates", "variety", "clients")
    parser.add_argument("part", choices=parts)
    parser.add_argument("--output", type=Path, default=Path("bot-study"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--games", type=int, default=8)
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--positions", type=int, default=15)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--plan", help="of all bots [default: the cheapest that will do]")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    if given.part == "rules":
        rules(given.data, given.turns, given.plan)
    elif given.part == "ladder":
        ladder(given.output, given.games, given.workers, given.plan)
    elif given.part == "judge":
        judge(given.output, given.turns, given.workers, given.plan)
    elif given.part == "won":
        won(given.output, given.data, given.positions, given.plan)
    elif given.part == "mates":
        mates(given.output, given.games, given.plan)
    elif given.part == "variety":
        variety()
    else:
        clients(given.output, given.games, given.plan)


if __name__ == "__main__":
    main()
