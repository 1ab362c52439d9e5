"""Measure the figures that `milepost review` ships: baselines of phases, pools, speeds.

    python scripts/write_review_figures.py phases CALIBRATION TURNS... --store DIR
    python scripts/write_review_figures.py pools TURNS... --store DIR [--whole TURNS DIR]
    python scripts/write_review_figures.py combine POOLS.json POOLS.json --docs docs

TURNS are turns tables (`milepost turns`) of the games; which of their turns count is what the store
holds. Phases are measured on the calibration's own population, pools with `stockfish15.1-bullet`:
on random turns; the time controls, with ``--whole``, also on games of which another store holds all
turns of a side. Pools come with a page of their tables and the chart of the time controls. Two
draws of turns from the same games are combined by their precision.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.analysis.spreads.build import NOT_ANALYSED
from milepost.choice.spreads import Spreads
from milepost.games.pools import is_elo, pool_of_turns
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import Ladder, climb
from milepost.intrinsic.review.groups import PHASES
from milepost.intrinsic.review.shifts import Shift, measure_shift
from milepost.intrinsic.review.speeds import AGAINST, SPEEDS, curve_of_cells, speed_cells
from milepost.report.charts import save_chart

DATA = Path(mp.__file__).parent / "data" / "review"
POOL_CALIBRATION = "stockfish15.1-bullet"
POINTS_A_PAWN = {
    "stockfish15.1-quick": {"value": 0.623, "se": 0.025, "turns": 13254},
    "stockfish15.1-bullet": {"value": 0.445, "se": 0.017, "turns": 13254},
}
"""`milepost.intrinsic.review.turn_costs.measure_points_a_pawn` on all random turns of 2011 to 2014,
decided ones too."""
LEAST_TURNS = 150
"""Bands of a pool with fewer turns are not shipped."""
BANDS = (1200, 1600, 2000, 2300, 2600, 3100)
"""How far a list lies off the Elo scale depends on where in the list: bands of its ratings."""


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["phases", "pools", "combine"])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--store")
    parser.add_argument("--whole", nargs=2, action="append", default=[], metavar=("TURNS", "DIR"))
    parser.add_argument("--source", default="")
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--out", type=Path, default=DATA)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "phases":
        values = phases(given.names[0], given.names[1:], given.store, given.source)
        path = given.out / f"{given.names[0]}.json"
    else:
        if given.what == "combine":
            draws = [json.loads(Path(name).read_text(encoding="utf-8")) for name in given.names]
            values = combined(*draws) | {"source": given.source}
        else:
            values = pools(given.names, given.store, given.whole) | {"source": given.source}
        path = given.out / "pools.json"
        if given.docs is not None:
            write_pages(values, given.docs)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(values, indent=1))


def read(
    names: list[str], store: str, calibration: Calibration, *, whole: bool = False
) -> pl.DataFrame:
    """The rated decisions of turns tables, with their pool; or only those of whole sides."""
    turns = pl.concat([pl.read_parquet(name) for name in names], how="diagonal_relaxed")
    plan = "bullet" if "bullet" in calibration.name else "quick"
    found = mp.decisions(turns, store, plan=plan)
    table = found.table
    if whole:
        table = table.join(
            found.left_out.filter(pl.col("reason") == NOT_ANALYSED).select("game_id", "mover"),
            on=["game_id", "mover"], how="anti",
        )  # fmt: skip
    for name in ("site", "speed"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    return table.filter(pl.col("mover_elo").is_not_null()).with_columns(pool_of_turns())


def shift_of(table: pl.DataFrame, ladder: Ladder, wanted: Any) -> Shift:
    """The shift of some turns."""
    here = np.flatnonzero(wanted)
    part = table[here]
    own = part["mover_elo"].cast(pl.Float64).to_numpy()
    return measure_shift(ladder.take(here), own, part["mover"].to_numpy())


def phases(name: str, names: list[str], store: str, source: str) -> dict[str, Any]:
    """Baselines of phases; the check fits them on one half of the games, reads the other."""
    calibration = mp.load_calibration(name)
    table = read(names, store, calibration)
    ladder = climb(Spreads.from_table(table), calibration.map.path)
    found = {
        phase: shift_of(table, ladder, (table["phase"] == phase).to_numpy()) for phase in PHASES
    }
    _, game = np.unique(table["game_id"].to_numpy(), return_inverse=True)
    half = np.random.default_rng(2011).permutation(game.max() + 1)[game] % 2 == 0
    after = {}
    for phase in PHASES:
        here = (table["phase"] == phase).to_numpy()
        gaps = []
        for first in (half, ~half):
            fitted, other = (shift_of(table, ladder, here & part) for part in (first, ~first))
            gaps.append((other.value - fitted.value, float(np.hypot(other.se, fitted.se))))
        after[phase] = [[round(gap, 1), round(se, 1)] for gap, se in gaps]
    return {
        "calibration": name,
        "setup": calibration.setup,
        "source": source,
        "phases": {phase: shift.to_dict() for phase, shift in found.items()},
        "other_half_less_fitted_half": after,
        "points_a_pawn": POINTS_A_PAWN[name],
    }


def pools(names: list[str], store: str, whole: list[list[str]]) -> dict[str, Any]:
    """Shifts of pools by bands of rating, and how the same accounts play at each speed.

    A band is read from random turns alone: with whole games one account would make most of it.
    Speeds are differences within accounts, so there the whole games count too.
    """
    calibration = mp.load_calibration(POOL_CALIBRATION)
    drawn = read(names, store, calibration)
    parts = [drawn, *(read([each], folder, calibration, whole=True) for each, folder in whole)]
    table = pl.concat(parts, how="diagonal_relaxed").unique(["game_id", "ply"], maintain_order=True)
    ladder = climb(Spreads.from_table(table), calibration.map.path)
    server = np.array([not is_elo(pool) for pool in table["pool"]])
    cells = speed_cells(table.filter(server), calibration, ladder.take(server))
    first = np.arange(len(table)) < len(drawn)  # the rows of the random turns come first
    return {
        "calibration": calibration.name,
        "pools": bands_of(table.filter(first), ladder.take(np.flatnonzero(first))),
        "speeds": rounded(curve_of_cells(cells)),
        "accounts": rounded(without_names(cells)),
    }


def bands_of(table: pl.DataFrame, ladder: Ladder) -> dict[str, list[dict[str, Any]]]:
    """Shifts of pools by bands of rating."""
    found: dict[str, list[dict[str, Any]]] = {}
    rating = table["mover_elo"].cast(pl.Float64).to_numpy()
    for pool in sorted(table["pool"].unique()):
        for low, high in pairwise(BANDS):
            here = (table["pool"] == pool).to_numpy() & (rating >= low) & (rating < high)
            if here.sum() < LEAST_TURNS:
                continue
            shift = shift_of(table, ladder, here)
            if shift.known:
                found.setdefault(pool, []).append({"from": low, "to": high, **shift.to_dict()})
    return found


def combined(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Two draws of turns from the same games as one.

    The draws share their players, whose distance from their ratings is a part of the error: so the
    error of a band is not made smaller than the smaller of the two.
    """
    if first["calibration"] != second["calibration"]:
        raise SystemExit("the two draws were read with different calibrations")
    found: dict[str, list[dict[str, Any]]] = {}
    for pool in sorted({*first["pools"], *second["pools"]}):
        for low, high in pairwise(BANDS):
            bands = [band for draw in (first, second) for band in draw["pools"].get(pool, [])
                     if (band["from"], band["to"]) == (low, high)]  # fmt: skip
            if len(bands) < 2:  # a band that one draw could not read is not known
                continue
            weights = np.array([band["se"] ** -2 for band in bands])
            value = float(weights @ [band["value"] for band in bands] / weights.sum())
            found.setdefault(pool, []).append({
                "from": low, "to": high, "value": round(value, 1),
                "se": min(band["se"] for band in bands),
                "turns": sum(band["turns"] for band in bands),
                "games": max(band["games"] for band in bands),
                "players": max(band["players"] for band in bands),
            })  # fmt: skip
    # Turns of one account may be in both draws, so a speed is read from the surer of the two.
    speeds = []
    for speed in SPEEDS:
        rows = [row for draw in (first, second) for row in draw["speeds"] if row["speed"] == speed]
        if rows:
            # Rapid itself has no error: there the draw of more turns is shown.
            speeds.append(min(rows, key=lambda row: (row["se"], -row["turns"])))
    accounts = second.get("accounts", [])
    calibration = first["calibration"]
    return {"calibration": calibration, "pools": found, "speeds": speeds, "accounts": accounts}


def rounded(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows with figures to a tenth."""
    return [
        {key: round(v, 1) if isinstance(v, float) else v for key, v in row.items()}
        for row in table.to_dicts()
    ]


def without_names(cells: pl.DataFrame) -> pl.DataFrame:
    """The accounts with several speeds, numbered: who they are does not matter."""
    several = cells.filter(pl.len().over("mover") > 1)
    order = {mover: place for place, mover in enumerate(sorted(several["mover"].unique()), start=1)}
    return several.select(
        pl.col("mover").replace_strict(order, return_dtype=pl.Int64).alias("account"),
        pl.exclude("mover"),
    ).sort("account", pl.col("speed").replace_strict(dict(zip(SPEEDS, range(4), strict=True))))


def write_pages(values: dict[str, Any], docs: Path) -> None:
    """Write the tables of pools and speeds, and the chart of the time controls."""
    question = "Do people play better with more time, and what is a rating of each pool worth?"
    written = "`scripts/write_review_figures.py pools` writes this page for [review.md](review.md)."
    lines = [
        "# Speeds and pools, measured",
        "",
        f"{question} Data: {values['source']}. Errors are clustered by player. {written}",
        "",
        "## The time controls",
        "",
        "![How the same accounts play at each speed](review_speeds.svg)",
        "",
        "The same accounts at several speeds on lichess, by their moves, compared with rapid:",
        "",
        "| speed | turns | accounts | Elo above rapid | 95 % |",
        "|---|---|---|---|---|",
    ]
    for row in values["speeds"]:
        gap = "0" if row["speed"] == AGAINST else f"{row['difference']:+.0f} ± {row['se']:.0f}"
        ends = "" if row["speed"] == AGAINST else f"{row['low']:+.0f} to {row['high']:+.0f}"
        lines.append(f"| {row['speed']} | {row['turns']:,} | {row['accounts']} | {gap} | {ends} |")
    lines += ["", "Accounts of the last draw:", "",
              "| account | speed | turns | games | rating by moves |",
              "|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {row['account']} | {row['speed']} | {row['turns']:,} | {row['games']} "
        f"| {row['rating']:.0f} ± {row['se']:.0f} |"
        for row in values["accounts"]
    ]
    lines += ["", "## Pools by bands of their ratings", "",
              "How far the rating by moves lies above the rating of the pool:", "",
              "| pool | ratings | turns | players | by moves, above the rating |",
              "|---|---|---|---|---|"]  # fmt: skip
    for pool, bands in values["pools"].items():
        lines += [
            f"| {pool} | {band['from']}–{band['to'] - 1} | {band['turns']:,} | {band['players']} "
            f"| {band['value']:+.0f} ± {band['se']:.0f} |"
            for band in bands
        ]
    (docs / "review_pools.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    save_chart(speeds_chart(values), docs / "review_speeds.svg")


def speeds_chart(values: dict[str, Any]) -> Any:
    """The curve of the same accounts, and beside it how each pool reads at its own ratings."""
    import altair as alt

    from milepost.report.charts import INK, PALETTE

    curve = pl.DataFrame(values["speeds"], infer_schema_length=None).with_columns(
        pl.format("{} turns, {} accounts", "turns", "accounts").alias("told")
    )
    order = [speed for speed in reversed(SPEEDS) if speed in curve["speed"].to_list()]
    x = alt.X("speed:N", sort=order, title=None, axis=alt.Axis(labelAngle=0))
    base = alt.Chart(curve)
    zero = alt.Chart(pl.DataFrame({"y": [0.0]})).mark_rule(color=INK, strokeDash=[4, 3])
    left = alt.layer(
        zero.encode(y="y:Q"),
        base.mark_rule(strokeWidth=5, opacity=0.45, color=PALETTE[0]).encode(
            x=x, y=alt.Y("low:Q", title="Elo beside rapid, same accounts"), y2="high:Q"
        ),
        base.mark_point(size=90, opacity=1, color=PALETTE[0]).encode(x=x, y="difference:Q"),
        base.mark_text(dy=-12, fontSize=11).encode(x=x, y="high:Q", text="told:N"),
    ).properties(width=420, height=300)
    rows = [
        {"pool": pool, "ratings": (band["from"] + band["to"]) / 2, "reads": band["value"],
         "low": band["value"] - 1.96 * band["se"], "high": band["value"] + 1.96 * band["se"]}
        for pool, bands in values["pools"].items()
        for band in bands
    ]  # fmt: skip
    pools_at = alt.Chart(pl.DataFrame(rows))
    at = alt.X("ratings:Q", title="rating on the own list", scale=alt.Scale(zero=False))
    colour = alt.Color("pool:N", title=None, legend=alt.Legend(orient="bottom", columns=3))
    right = alt.layer(
        zero.encode(y="y:Q"),
        pools_at.mark_rule(opacity=0.5, strokeWidth=3).encode(
            x=at, y=alt.Y("low:Q", title="moves read above the rating, Elo"), y2="high:Q",
            color=colour,
        ),
        pools_at.mark_line(point=True).encode(x=at, y="reads:Q", color=colour),
    ).properties(width=420, height=300)  # fmt: skip
    return alt.hconcat(left, right)


if __name__ == "__main__":
    main()
