"""Do moves help to predict the games of players with few results? See docs/joint.md.

    python -m studies.joint_prediction

Reads the sites that ``python -m studies.joint sites`` made; adds to ``studies/figures/joint.json``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm
from studies.joint import KEPT, LEARNED, PERIODS, Fitted, keep
from studies.otb_games import read_games

from milepost.history import History


def prediction() -> None:
    """Log-loss of next year's games of players with few results and some turns."""
    table = pl.read_parquet(KEPT / "sites.parquet")
    gains: list[tuple[str, float, int]] = []
    years: list[str] = []
    for _, last in PERIODS.values():
        fitted = Fitted(last - 4, last, LEARNED)
        known = table.filter(pl.col("time").is_between(last - 4, last))
        history = fitted.joined(known)
        gains += _gains(history, last)
        years.append(str(last + 1))
        keep("prediction", _summary(gains) | {"source": f"games of {', '.join(years)}"})


def _gains(history: History, last: int) -> list[tuple[str, float, int]]:
    moves = history.moves
    assert moves is not None
    assert moves.results_only is not None
    totals = history.curves.group_by("player").agg(
        pl.col("games").sum(), turns=pl.col("moves_n").fill_null(0).sum()
    )
    few = dict(
        totals.filter((pl.col("games") < 20) & (pl.col("turns") > 0))
        .select("player", "turns").iter_rows()
    )  # fmt: skip
    everybody = set(totals["player"])
    later = read_games(last + 1, last + 1).filter(~pl.col("fast"))
    later = later.filter(pl.col("player_1").is_in(list(few)) | pl.col("player_2").is_in(list(few)))
    out = []
    for one, two, score in later.select("player_1", "player_2", "score").iter_rows():
        if one not in everybody or two not in everybody:
            continue
        logs = []
        for lives in (history._lives, moves.results_only):
            a, b = lives.at(one, last + 1.0), lives.at(two, last + 1.0)
            spread = np.sqrt(a.sd**2 + b.sd**2 + 2.0 * LEARNED.beta**2)
            apart = a.mean - b.mean + 90.0
            win = norm.cdf((apart - history.draw_margin) / spread)
            loss = norm.cdf((-apart - history.draw_margin) / spread)
            logs.append(np.log({1.0: win, 0.0: loss, 0.5: 1.0 - win - loss}[score]))
        out.append((one if one in few else two, float(logs[0] - logs[1]),
                    int(few[one if one in few else two])))  # fmt: skip
    return out


def _summary(gains: list[tuple[str, float, int]]) -> dict[str, Any]:
    frame = pl.DataFrame(gains, schema=["player", "gain", "turns"], orient="row")
    out: dict[str, Any] = {}
    for name, part in (
        ("any turns", frame),
        ("5 turns or more", frame.filter(pl.col("turns") >= 5)),
    ):
        by = part.group_by("player").agg(pl.col("gain").sum(), games=pl.len())
        games = int(by["games"].sum())
        if not games:
            continue
        mean = float(by["gain"].sum()) / games
        left = by["gain"].to_numpy() - mean * by["games"].to_numpy()
        error = float(np.sqrt(np.sum(left**2))) / games
        out[name] = {"games": games, "players": by.height, "gain": mean, "se": error}
    print(out, flush=True)
    return out


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    prediction()
