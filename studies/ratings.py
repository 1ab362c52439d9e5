"""How well ratings by moves do: held out, and how many turns they take.

    python -m studies.ratings heldout      # the other periods, shipped calibration
    python -m studies.ratings power        # turns to tell neighbours apart
    python -m studies.ratings plans --stores quick=DIR --stores standard=DIR …

All but the last read `../shared/data/analysis`. `heldout` was run once, after everything about the
calibration was fixed on 2011-2014. How well they do against simpler statistics: `studies.accuracy`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy.stats import norm
from studies.real_spreads import ANALYSIS, RANDOM_TURNS, read_turns, spreads_of

from milepost.choice import Spreads
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.calibration.maps import fit_map
from milepost.intrinsic.rating.interval import estimate
from milepost.intrinsic.rating.likelihood_grid import climb

WHOLE_GAMES = ANALYSIS / "whole_games.parquet"
CALIBRATION = "stockfish15.1-quick"


def heldout(found: Calibration) -> pl.DataFrame:
    """Rate the sets of the other periods."""
    frame = read_turns(WHOLE_GAMES)
    rows = []
    for (period, milepost), part in sorted(
        frame.partition_by(["period", "milepost"], as_dict=True).items()
    ):
        spreads = spreads_of(part)
        rated = estimate(climb(spreads, found.map.path), found.variation, found.map_error)
        players = pl.concat([part["white"], part["black"]]).n_unique()
        # A set mixes many players: the variation between them averages out.
        own = found.variation.player_sd.used / np.sqrt(players)
        se = float(np.sqrt(rated.se_turns**2 + rated.se_calibration**2 + own**2))
        true = float(part["elo"].mean())  # type: ignore[arg-type]
        rows.append(
            {
                "period": period,
                "milepost": milepost,
                "turns": len(part),
                "games": part["game_key"].n_unique(),
                "players": players,
                "elo": true,
                "ipr": rated.rating,
                "se": se,
                "low": rated.rating - 1.96 * se,
                "high": rated.rating + 1.96 * se,
                "error": rated.rating - true,
                "z": (rated.rating - true) / se,
            }
        )
    return pl.DataFrame(rows)


def summarise_heldout(table: pl.DataFrame) -> str:
    """Return slope, mean error, error beside the stated one, and coverage."""
    elo, ipr = table["elo"].to_numpy(), table["ipr"].to_numpy()
    gap = ipr - elo
    stated = np.sqrt(np.mean(table["se"].to_numpy() ** 2))
    slope = np.polyfit(elo, ipr, 1)[0]
    inside = table.select((pl.col("z").abs() <= 1.96).sum()).item()
    lines = [
        f"slope of IPR on Elo {slope:.2f}",
        f"mean error {gap.mean():+.0f}, RMSE {np.sqrt((gap**2).mean()):.0f}, stated {stated:.0f}",
        f"{inside} of {len(table)} intervals of 95 % cover",
    ]
    for (period,), part in sorted(table.partition_by("period", as_dict=True).items()):
        weight = 1 / part["se"].to_numpy() ** 2
        mean = float((part["error"].to_numpy() * weight).sum() / weight.sum())
        lines.append(f"{period}: mean error {mean:+.0f} +- {1.96 / np.sqrt(weight.sum()):.0f}")
    return "\n".join(lines)


def power(found: Calibration) -> pl.DataFrame:
    """Turns and games that tell two players apart, 5 % two-sided, with 80 % and 95 % power."""
    frame = read_turns(RANDOM_TURNS)
    spreads = spreads_of(frame)
    assert spreads.rating is not None
    ladder = climb(spreads, found.map.path)
    rows = []
    for level in (1700, 2000, 2300, 2600):
        near = np.abs(spreads.rating - level) <= 150
        information = float(ladder.take(near).information_at(float(level)).mean())
        turns_a_game = 33.0
        for gap in (50, 100, 200):
            row: dict[str, float] = {"elo": level, "apart": gap}
            for share in (0.8, 0.95):
                need = (norm.ppf(0.975) + norm.ppf(share)) ** 2
                # Var of a difference of two ratings of n turns in n/33 games each.
                variance = found.variation.game_dispersion.value / information
                variance += found.variation.game_sd.used**2 * turns_a_game
                row[f"turns, power {share:.0%}"] = round(2 * variance * need / gap**2)
            row["turns, agents alone"] = round(
                2 / information * (norm.ppf(0.975) + norm.ppf(0.8)) ** 2 / gap**2
            )
            rows.append(row)
    return pl.DataFrame(rows)


def plans(stores: Sequence[str], turns: str) -> pl.DataFrame:
    """Expected information about Elo a turn and an engine second, on the same turns."""
    from milepost.analysis.spreads.build import make_spreads
    from milepost.analysis.store.store import EvaluationStore

    table = pl.read_parquet(turns)
    kept: dict[str, pl.DataFrame] = {}
    nodes: dict[str, float] = {}
    for text in stores:
        name, _, folder = text.partition("=")
        store = EvaluationStore(folder)
        kept[name] = make_spreads(table, store).table
        nodes[name] = float(store.read()["nodes"].mean())  # type: ignore[arg-type]
    keys = ["game_id", "ply"]
    common = None
    for frame in kept.values():
        part = frame.select(keys)
        common = part if common is None else common.join(part, on=keys, how="semi")
    assert common is not None
    base = spreads_of(read_turns(RANDOM_TURNS))
    path = fit_map("joint", base, covariance=False).path
    rows = []
    for name, frame in kept.items():
        spreads = Spreads.from_table(frame.join(common, on=keys, how="semi"))
        assert spreads.rating is not None
        ladder = climb(spreads, path)
        information = ladder.information_at(spreads.rating)
        rows.append(
            {
                "plan": name,
                "turns": len(spreads),
                "nodes a turn": nodes[name],
                "sd of Elo from 250 turns": float(1 / np.sqrt(250 * information.mean())),
                "information a node, quick = 1": float(information.mean()) / nodes[name],
            }
        )
    answer = pl.DataFrame(rows)
    first = answer["information a node, quick = 1"][0]
    return answer.with_columns(pl.col("information a node, quick = 1") / first)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["heldout", "power", "plans"])
    parser.add_argument("--calibration", default=CALIBRATION)
    parser.add_argument("--stores", action="append", default=[], metavar="PLAN=DIR")
    parser.add_argument("--turns", default="turns.parquet", help="the turns of the plans' stores")
    parser.add_argument("--output", help="write the last table here (CSV)")
    options = parser.parse_args(arguments)
    if not ANALYSIS.exists():
        print("skipped: ../shared/data/analysis is not there")
        return 0
    table = pl.DataFrame()
    for part in options.parts:
        if part == "plans":
            table = plans(options.stores, options.turns)
        elif part == "power":
            table = power(load_calibration(options.calibration))
        else:
            table = heldout(load_calibration(options.calibration))
        with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=3):
            print(table)
        if part == "heldout":
            print(summarise_heldout(table))
    if options.output:
        table.write_csv(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
