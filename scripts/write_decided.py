"""Fit the agents for decided positions: turns where one side is more than three pawns ahead.

    python scripts/write_decided.py ../shared/data

Read are `analysis/random_turns_2011-2014.parquet` and `analysis/whole_games.parquet`, which hold
such turns with every move scored at the depths 1 to 10. *quick* sees all of them, *bullet* the
first six. Written are coefficients only, with the log-loss on held-out games (three folds), beside
that of the calibration's own agents, which were fitted within three pawns.

Values stand on the mate ladder (`milepost.intrinsic.choosing.decided`), differences on the log
scale with a cap of twelve pawns. Tried on the same folds at depth 6, log-loss a turn: a cap of four
pawns 1.617, of twelve 1.640; with rank, least loss and loss 1.606, the same on the win-probability
scale 1.606; with the kinds of moves 1.567.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from milepost.analysis.plans import make_plan
from milepost.analysis.spreads.option_columns import add_option_columns
from milepost.choice.evaluation.evaluate import evaluate, prepare
from milepost.choice.model import ChoiceModel
from milepost.choice.scale import Scale
from milepost.choice.spreads import Spreads
from milepost.fit.comparison.candidates import recommended
from milepost.fit.methods.smooth import SmoothFit, fit_smooth
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.calibration.paths import AgentPath, PolynomialPath
from milepost.intrinsic.choosing.decided import LIMIT_PAWNS, DecidedAgents, on_mate_ladder
from milepost.io.files import write_text
from milepost.tables import CONTEXT, OPTION

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "decided"
FILES = ("random_turns_2011-2014.parquet", "whole_games.parquet")
VALUES = ("rank", "least", "loss")
MOVES = ("capture", "recapture", "check", "promotion", "near", "escape", "exposed")
CAP = 12.0
BEST = pl.col("cp").list.last().list.first()
"""The value of the best move, in centipawns."""
FOLDS = 3


def decided_turns(folder: Path) -> Spreads:
    """Return the turns beyond the limit, with ratings, depths and columns, grouped by game."""
    return scored_turns([folder / name for name in FILES], BEST.abs() > 100 * LIMIT_PAWNS)


def scored_turns(files: Sequence[Path], wanted: pl.Expr) -> Spreads:
    """Return turns of tables with scored moves, with ratings, depths and columns, by game."""
    white = pl.col("fen").str.contains(" w ", literal=True)
    game = pl.concat_str(pl.col("period", "milepost", "game").cast(pl.String), separator=" ")
    turns = pl.concat(
        pl.read_parquet(file)
        .filter(~pl.col("repeated") & wanted)
        .with_columns(
            pl.when(white).then("white_elo").otherwise("black_elo").cast(pl.Float64).alias("elo"),
            game.alias("game_id"),
        )
        for file in files
    ).unique(["game_id", "ply"], maintain_order=True)
    named = turns.with_columns(pl.col("fen").alias("position"), pl.col("fen").alias("key"))
    frame = add_option_columns(named, named)
    moves = frame["moves"].to_list()
    tables = [np.array(cp, dtype=np.float64).T / 100.0 for cp in frame["cp"].to_list()]
    counts = [len(each) for each in moves]
    brought = [name for name in frame.columns if name.startswith(OPTION)]
    return Spreads.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([table[:, -1] for table in tables]),
        [options.index(move) for options, move in zip(moves, frame["played"], strict=True)],
        groups=frame["game_id"].to_list(),
        rating=frame["elo"].to_numpy(),
        depth_values=np.concatenate(tables),
        columns={
            name.removeprefix(OPTION): frame[name].explode(empty_as_null=False).to_numpy()
            for name in brought
        },
        context={
            name.removeprefix(CONTEXT): frame[name].to_numpy()
            for name in frame.columns
            if name.startswith(CONTEXT)
        },
    )


def fit(spreads: Spreads, *, covariance: bool) -> SmoothFit:
    """Fit the agents along Elo."""
    candidate = recommended(spreads.depths)
    assert not isinstance(candidate.degree, int)
    utilities = (*VALUES, *MOVES)
    model = replace(candidate.model, scale=Scale(cap=CAP), utilities=utilities)
    known = {
        name: power for name, power in dict(candidate.degree).items() if name in model.parameters
    }
    degrees = known | dict.fromkeys(utilities, 0)
    return fit_smooth(spreads, model, degree=degrees, covariance=covariance)


def log_loss(spreads: Spreads, model: ChoiceModel, theta: np.ndarray) -> float:
    """Return -ln p of the moves that were played, summed."""
    return -float(evaluate(model, prepare(spreads, model), theta).ln_chosen.sum())


def held_out(spreads: Spreads, own: AgentPath) -> dict[str, float]:
    """Return the log-loss a turn on held-out games, and that of the calibration's own agents."""
    folds = spreads.groups % FOLDS
    near = on_mate_ladder(spreads)
    total = 0.0
    for fold in range(FOLDS):
        fitted = fit(near.take(folds != fold), covariance=False)
        rest = near.take(folds == fold)
        assert rest.rating is not None
        total += log_loss(rest, fitted.model, fitted.theta(rest.rating))
    assert spreads.rating is not None
    other = log_loss(spreads, own.model, own.theta(spreads.rating))
    return {"log_loss": total / len(spreads), "log_loss_calibration": other / len(spreads)}


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="the folder of real data (../shared/data)")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="where they are written")
    given = parser.parse_args()
    everything = decided_turns(given.data / "analysis")
    for name in ("bullet", "quick"):
        calibration = load_calibration(f"stockfish15.1-{name}")
        spreads = everything.to_depth(make_plan(name).depth)
        fitted = fit(on_mate_ladder(spreads), covariance=True)
        made = {
            "made_by": "scripts/write_decided.py",
            "inputs": list(FILES),
            "limit_pawns": LIMIT_PAWNS,
            **held_out(spreads, calibration.map.path),
        }
        counts = {"turns": fitted.n, "games": fitted.n_groups}
        agents = DecidedAgents(calibration.setup, PolynomialPath.of(fitted), counts, made)
        given.outputs.mkdir(parents=True, exist_ok=True)
        write_text(
            given.outputs / f"stockfish15.1-{name}.json",
            json.dumps(agents.to_dict(), indent=1) + "\n",
        )
        sys.stdout.write(f"{name}: {counts}, {made}, converged {fitted.converged}\n")


if __name__ == "__main__":
    main()
