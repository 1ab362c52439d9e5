"""Ratings on events that nobody has looked at: do the intervals cover, and how wide are they?

    python -m studies.held_out_events ../shared/data --store DIR [-o FILE]
    python -m studies.held_out_events ../shared/data --store DIR --calibration stockfish15.1-bullet
    python -m studies.held_out_events ../shared/data --store DIR --part estimate      # a rehearsal

Reads events of part `test` that the store holds with the plan of the calibration (performances of
`--least` turns or more; games that are also in the mileposts are left out), rates each performance
with the shipped calibration, and prints how often the player interval covers the printed Elo, its
mean width, the size of z, and the errors within and of events; by 200 Elo and by year. Beside the
coverage stand its 95 % interval (Clopper & Pearson), the range in which it lies 95 times in 100 if
intervals are right, both as if performances were independent, and its error clustered by event,
since players of an event share how it lies off its Elo. The performance interval has no printed
truth: halves of the same turns are rated apart, and their difference is compared with what both
intervals say. Meant to be run once on part `test`; events of part `estimate` helped to make the
calibrations, so there it shows only that all works. The file holds figures only, no games.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import beta, binom
from studies.components import plan_of

import milepost as mp
from milepost.analysis.plans import Plan, make_plan
from milepost.errors import InputError, MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration

QUANTILE = 1.959964
LEVEL = 0.95
"""Of the intervals, and of the ranges that their coverage is compared with."""
LEAST_TURNS = 60
BAND = 200
"""Performances are told apart by so many Elo."""


def performances(
    data: Path,
    store: Path,
    calibration: Calibration,
    *,
    part: str = "test",
    plan: Plan | None = None,
    least: int = LEAST_TURNS,
    limit: int | None = None,
) -> pl.DataFrame:
    """One row a player in an event: rating, intervals, Elo, and the readings of both halves."""
    with (data / "events" / "index.csv").open(encoding="utf-8") as file:
        events = [row for row in csv.DictReader(file) if row["part"] == part]
    rows: list[pl.DataFrame] = []
    for number, event in enumerate(events, start=1):
        if limit is not None and len(rows) >= limit:
            break
        sys.stderr.write(f"\r{number} of {len(events)} events   ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                decisions = mp.decisions(
                    data / "events" / event["file"], store, plan=plan or plan_of(calibration)
                )
            except InputError:
                continue  # no turn of it is in the store
        table = decisions.table.filter(pl.col("mover_elo").is_not_null())
        if int(event["games_in_mileposts"]):
            table = _without_known(table, data)
        enough = table.group_by("mover").len().filter(pl.col("len") >= least)["mover"]
        table = table.filter(pl.col("mover").is_in(enough.implode()))
        if not len(table):
            continue
        table = table.with_columns(
            pl.lit(event["file"]).alias("event"),
            (pl.int_range(pl.len()).over("mover") % 2).alias("odd"),
            (pl.int_range(pl.len()) * 2 >= pl.len()).over("mover").cast(pl.Int64).alias("second"),
        )
        rows.append(_rate(table, decisions.setup, calibration, event))
    sys.stderr.write("\n")
    if not rows:
        raise SystemExit(f"no performance of part `{part}` is in the store")
    return pl.concat(rows, how="diagonal_relaxed")


def _rate(
    table: pl.DataFrame, setup: str, calibration: Calibration, event: dict[str, str]
) -> pl.DataFrame:
    def rated(part: pl.DataFrame) -> pl.DataFrame:
        return mp.rate(mp.Decisions(part, setup), calibration=calibration).table

    whole = rated(table)
    halves = []
    for name in ("odd", "second"):
        for value in (0, 1):
            half = rated(table.filter(pl.col(name) == value))
            halves.append(
                half.select(
                    "player",
                    pl.col("rating").alias(f"{name}_{value}"),
                    pl.col("se_turns").alias(f"{name}_{value}_se"),
                )
            )
    for half in halves:
        whole = whole.join(half, on="player", how="left")
    return whole.with_columns(
        pl.lit(event["file"]).alias("file"), pl.lit(int(event["first_year"])).alias("year")
    )


def _without_known(table: pl.DataFrame, data: Path) -> pl.DataFrame:
    """Leave out games whose turns stand in the mileposts' evaluated turns: same position."""
    known = pl.read_parquet(
        data / "analysis" / "random_turns_2011-2014.parquet", columns=["fen", "played"]
    )
    seen = table.join(known, left_on=["position", "played"], right_on=["fen", "played"], how="semi")
    return table.filter(~pl.col("game_id").is_in(seen["game_id"].unique().implode()))


def coverage(inside: np.ndarray, events: np.ndarray) -> dict[str, float]:
    """How often intervals cover, with what chance allows.

    Parameters
    ----------
    inside
        Whether the interval of each performance covers its Elo.
    events
        The event of each performance.
    """
    n, hits = len(inside), int(inside.sum())
    spare = (1 - LEVEL) / 2
    share = hits / n
    _, code = np.unique(events, return_inverse=True)
    sums = np.bincount(code.ravel(), weights=inside - share)
    count = len(sums)
    clustered = np.sqrt((sums**2).sum() * count / (count - 1)) / n if count > 1 else float("nan")
    return {
        "covered": share,
        "covered_low": float(beta.ppf(spare, hits, n - hits + 1)) if hits else 0.0,
        "covered_high": float(beta.ppf(1 - spare, hits + 1, n - hits)) if hits < n else 1.0,
        "expected_low": float(binom.ppf(spare, n, LEVEL)) / n,
        "expected_high": float(binom.ppf(1 - spare, n, LEVEL)) / n,
        "covered_se_by_event": float(clustered),
    }


def summary(table: pl.DataFrame) -> dict[str, float]:
    """Coverage, width, z and errors of some performances.

    An interval without a bound on one side is open there, and covers what lies on that side; this
    holds for performances without a rating too. Widths are of closed intervals, errors of ratings.
    """
    low = table["player_low"].fill_null(-np.inf).to_numpy()
    high = table["player_high"].fill_null(np.inf).to_numpy()
    printed = table["elo"].to_numpy()
    closed = table.drop_nulls(["low", "high", "player_low", "player_high"])
    known = table.drop_nulls("rating")
    gap = (known["rating"] - known["elo"]).to_numpy()
    z = gap / known["se_player"].to_numpy()
    events = known["file"].to_numpy()
    names = np.unique(events)
    means = np.array([gap[events == name].mean() for name in names])
    counts = np.array([(events == name).sum() for name in names])
    within = np.concatenate([gap[events == n] - gap[events == n].mean() for n in names])
    free = max(len(gap) - len(names), 1)
    return {
        "performances": len(table),
        "unrated": len(table) - len(known),
        "open": len(table) - len(closed),
        "events": len(names),
        "turns": float(known["n"].to_numpy().mean()),
        **coverage((low <= printed) & (printed <= high), table["file"].to_numpy()),
        "half_width_player": _half_width(closed["player_low"], closed["player_high"]),
        "half_width_performance": _half_width(closed["low"], closed["high"]),
        "sd_z": float(np.sqrt((z**2).mean())),
        "mean_gap": float(gap.mean()),
        "rmse": float(np.sqrt((gap**2).mean())),
        "sd_within_events": float(np.sqrt((within**2).sum() / free)),
        "sd_of_event_means": float(means.std(ddof=1)) if len(means) > 1 else float("nan"),
        "players_an_event": float(counts.mean()),
    }


def _half_width(low: pl.Series, high: pl.Series) -> float:
    return float((high - low).to_numpy().mean() / 2) if len(low) else float("nan")


def halves(table: pl.DataFrame) -> dict[str, float]:
    """How far two halves of the same games differ, in units of what their errors say."""
    answer = {}
    for name in ("odd", "second"):
        known = table.drop_nulls([f"{name}_0", f"{name}_1"])
        gap = (known[f"{name}_0"] - known[f"{name}_1"]).to_numpy()
        se = np.hypot(known[f"{name}_0_se"].to_numpy(), known[f"{name}_1_se"].to_numpy())
        answer[f"{name}_sd_z"] = float(np.sqrt(((gap / se) ** 2).mean()))
        answer[f"{name}_covered"] = float((np.abs(gap) <= QUANTILE * se).mean())
        answer[f"{name}_mean"] = float(gap.mean())
    return answer


def split(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the performances of all, of each band of Elo and of each year, those with any."""
    band = (table["elo"] / BAND).floor().cast(pl.Int64) * BAND
    parts = {"all": table}
    parts |= {
        f"Elo {low}-{low + BAND - 1}": table.filter(band == low) for low in sorted(band.unique())
    }
    parts |= {
        f"year {year}": table.filter(pl.col("year") == year)
        for year in sorted(table["year"].unique())
    }
    return {name: part for name, part in parts.items() if part["rating"].is_not_null().any()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--part", default="test", choices=["test", "estimate"])
    parser.add_argument("--least", type=int, default=LEAST_TURNS, help="turns of a performance")
    parser.add_argument("--limit", type=int, help="the first so many events, to try it out")
    parser.add_argument("--calibration", default="stockfish15.1-quick")
    parser.add_argument("--plan", help="whose evaluations to read [default: the calibration's]")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    table = performances(
        given.data, given.store, load_calibration(given.calibration), part=given.part,
        plan=make_plan(given.plan) if given.plan else None, least=given.least, limit=given.limit,
    )  # fmt: skip
    figures = {name: summary(part) for name, part in split(table).items()}
    figures["all"] |= halves(table)
    for name, values in figures.items():
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in values.items()))
    if given.output:
        told = {"calibration": given.calibration, "part": given.part, "least": given.least}
        text = json.dumps(told | {"figures": figures}, indent=1)
        given.output.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
