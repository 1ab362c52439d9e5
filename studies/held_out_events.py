"""Ratings on events that nobody has looked at: do the intervals cover, and how wide are they?

    python -m studies.held_out_events ../shared/data --store DIR [-o FILE]

Reads events of part `test` whose players have been evaluated (`--least` turns or more of their own
games; games that are also in the mileposts are left out), rates each performance with the shipped
calibration, and prints how often the player interval covers the printed Elo, its mean width, the
spread of z, and the errors within and of events; by 200 Elo and by year. The performance interval
has no printed truth: halves of the same turns are rated apart, and their difference is compared
with what both intervals say. Meant to be run once; the file holds figures only, no games.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl

import milepost as mp
from milepost.errors import MissingEvaluationsWarning, NotAnalysedError

QUANTILE = 1.959964


def performances(data: Path, store: Path, least: int, calibration: str) -> pl.DataFrame:
    """One row a player in an event: rating, intervals, Elo, and the readings of both halves."""
    with (data / "events" / "index.csv").open(encoding="utf-8") as file:
        events = [row for row in csv.DictReader(file) if row["part"] == "test"]
    rows = []
    for number, event in enumerate(events, start=1):
        sys.stderr.write(f"\r{number} of {len(events)} events   ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            try:
                decisions = mp.decisions(data / "events" / event["file"], store)
            except NotAnalysedError:
                continue
        table = decisions.table
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
    return pl.concat(rows)


def _rate(table: pl.DataFrame, setup: str, calibration: str, event: dict[str, str]) -> pl.DataFrame:
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


def summary(table: pl.DataFrame) -> dict[str, float]:
    """Coverage, width, z and errors of some performances."""
    gap = (table["rating"] - table["elo"]).to_numpy()
    z = gap / table["se_player"].to_numpy()
    low, high = table["player_low"].to_numpy(), table["player_high"].to_numpy()
    elo = table["elo"].to_numpy()
    inside = (low <= elo) & (elo <= high)
    events = table["file"].to_numpy()
    names = np.unique(events)
    means = np.array([gap[events == name].mean() for name in names])
    counts = np.array([(events == name).sum() for name in names])
    within = np.concatenate([gap[events == n] - gap[events == n].mean() for n in names])
    free = max(len(gap) - len(names), 1)
    return {
        "performances": len(gap),
        "events": len(names),
        "turns": float(table["n"].to_numpy().mean()),
        "covered": float(inside.mean()),
        "half_width_player": float((high - low).mean() / 2),
        "half_width_performance": float((table["high"] - table["low"]).to_numpy().mean() / 2),
        "sd_z": float(np.sqrt((z**2).mean())),
        "mean_gap": float(gap.mean()),
        "rmse": float(np.sqrt((gap**2).mean())),
        "sd_within_events": float(np.sqrt((within**2).sum() / free)),
        "sd_of_event_means": float(means.std(ddof=1)) if len(means) > 1 else float("nan"),
        "players_an_event": float(counts.mean()),
    }


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


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--least", type=int, default=60)
    parser.add_argument("--calibration", default="stockfish15.1-quick")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    table = performances(given.data, given.store, given.least, given.calibration)
    band = (table["elo"] / 200).floor().cast(pl.Int64) * 200
    parts = {"all": table}
    parts |= {f"Elo {low}-{low + 199}": table.filter(band == low) for low in sorted(band.unique())}
    parts |= {
        f"year {year}": table.filter(pl.col("year") == year)
        for year in sorted(table["year"].unique())
    }
    figures = {name: summary(part) for name, part in parts.items()}
    figures["all"] |= halves(table)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200):
        rows = [{"part": name, **values} for name, values in figures.items()]
        print(pl.DataFrame(rows, infer_schema_length=None))
    if given.output:
        given.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
