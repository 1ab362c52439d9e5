"""How exact ratings by moves are, on games the maps had not seen, beside what people use instead.

    python -m studies.accuracy                                   # all maps, some minutes
    python -m studies.accuracy --maps line,joint-depths --cuts 60 --seed 5 -o accuracy

Random turns of 2011-2014 (`../shared/data/analysis`), five folds by game. Each reader rates the
same pieces of 50, 250 and 1,000 turns, over many random cuts. Prints the table; `-o NAME` writes
NAME.json and NAME.md. `--decisions FILE` takes other turns (`milepost spreads`). What the columns
mean: `milepost.intrinsic.calibration.accuracy`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from studies.real_spreads import ANALYSIS, RANDOM_TURNS, read_decisions

from milepost.fit.comparison.compare import split_folds
from milepost.intrinsic.calibration.accuracy import (
    CUTS,
    RESAMPLES,
    SIZES,
    Contender,
    accuracy_table,
)
from milepost.intrinsic.calibration.held_out import read_unseen, simple_contenders
from milepost.intrinsic.calibration.maps import COLUMNS, KINDS, fit_map
from milepost.intrinsic.rating.simple_measures import LICHESS

MEASURES = ("match rate", "centipawn loss", "centipawn loss, capped at 3 pawns",
            "scaled difference", LICHESS)  # fmt: skip


def measure(
    maps: Sequence[str],
    path: Path = RANDOM_TURNS,
    *,
    cuts: int,
    resamples: int,
    seed: int,
    folds_seed: int = 2011,
) -> pl.DataFrame:
    """Return the accuracy of maps and of simpler measures on the turns of a file."""
    spreads = read_decisions(path, columns=COLUMNS in maps).spreads
    fold = split_folds(spreads, 5, np.random.default_rng(folds_seed))
    contenders: dict[str, Contender] = simple_contenders(spreads, fold, MEASURES)
    for kind in maps:
        print(f"{kind} …", file=sys.stderr, flush=True)
        start = fit_map(kind, spreads, covariance=False)
        contenders[kind] = read_unseen(kind, spreads, fold, start=start).contender
    return accuracy_table(
        contenders, spreads, cuts=cuts, resamples=resamples, seed=seed, against=LICHESS
    )


def as_markdown(table: pl.DataFrame) -> str:
    """Return the table for a page: a row a reader, error ± its error, calibrated, bound, ratio."""
    sizes = table["turns"].unique(maintain_order=True).to_list()
    heads = [f"{size:,} turns" for size in sizes]
    heads += ["slope at 250", "calibrated", "sd over cuts", "bound", "information"]
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name in table["map"].unique(maintain_order=True):
        rows = {row["turns"]: row for row in table.filter(map=name).iter_rows(named=True)}
        cells = [_with_error(rows.get(size), "rmse") for size in sizes]
        middle = rows.get(250)
        if middle is not None:
            cells += [f"{middle['slope']:.2f}", _with_error(middle, "calibrated")]
            cells += [_number(middle["rmse_sd"]), _number(middle["bound"])]
            ratio = f"{middle['ratio']:.2f}"
            if middle["ratio_low"] is not None and name != LICHESS:
                ratio += f" ({middle['ratio_low']:.2f} to {middle['ratio_high']:.2f})"
            cells.append(ratio)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_error(row: dict[str, float] | None, name: str) -> str:
    if row is None:
        return ""
    error = row[f"{name}_se"]
    return f"{row[name]:.0f}" + ("" if error is None else f" ± {error:.0f}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--maps", default=",".join(KINDS), help="maps, with commas")
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--resamples", type=int, default=RESAMPLES)
    parser.add_argument("--seed", type=int, default=2012, help="draws cuts and games")
    parser.add_argument("--folds-seed", type=int, default=2011)
    parser.add_argument("--decisions", type=Path, default=RANDOM_TURNS, help="the turns")
    parser.add_argument("-o", "--output", help="write this name with .json and .md")
    options = parser.parse_args(arguments)
    if not ANALYSIS.exists():
        print("skipped: ../shared/data/analysis is not there")
        return 0
    kinds = [kind for kind in options.maps.split(",") if kind]
    table = measure(
        kinds, options.decisions, cuts=options.cuts, resamples=options.resamples, seed=options.seed,
        folds_seed=options.folds_seed,
    )  # fmt: skip
    print(as_markdown(table))
    if options.output:
        made = {"cuts": options.cuts, "resamples": options.resamples, "seed": options.seed}
        made |= {"sizes": list(SIZES), "folds_seed": options.folds_seed}
        text = json.dumps({"made": made, "rows": table.to_dicts()}, indent=1)
        Path(f"{options.output}.json").write_text(text + "\n", encoding="utf-8")
        Path(f"{options.output}.md").write_text(as_markdown(table) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
