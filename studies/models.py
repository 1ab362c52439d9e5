"""The mileposts of 2011-2014 fitted, and all models compared, on real turns.

Run it with ``python -m studies.models [--only table|models] [--everything]``; it needs
``../shared/data/analysis`` and says so if it is not there.

1. the paper's table: Elo, N, s, c, c_fit, s_fit, match rate and scaled error projected and actual,
   Qfit, for percentile and likelihood fits, with Spearman's correlation of each with Elo;
2. the comparison of models: 5 folds by game, held-out log-loss, Qfit, projection errors, gate.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import polars as pl
from scipy import stats
from studies.real_spreads import RANDOM_TURNS, read_turns, spreads_of

from milepost.choice import Spreads
from milepost.fit import compare, fit_cohorts
from milepost.fit.comparison.candidates import standard_candidates
from milepost.io.progress import Progress


def main() -> None:
    """Fit, compare and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", choices=("table", "models"))
    parser.add_argument("--everything", action="store_true", help="also all curves with shares")
    parser.add_argument("--folds", type=int, default=5)
    arguments = parser.parse_args()
    if not RANDOM_TURNS.exists():
        print(f"skipped: no {RANDOM_TURNS.name}")
        return
    turns = read_turns()
    spreads = spreads_of(turns)
    print(f"{spreads}")
    if arguments.only in (None, "table"):
        mileposts = turns["milepost"].to_numpy()
        cohorts = {
            float(elo): spreads.take(mileposts == elo) for elo in sorted(set(mileposts.tolist()))
        }
        for method in ("percentile", "likelihood"):
            _table(cohorts, method)
    if arguments.only in (None, "models"):
        _models(spreads, arguments.folds, everything=arguments.everything)


def _table(cohorts: dict[float, Spreads], method: str) -> None:
    fits = fit_cohorts(cohorts, method=method)
    table = fits.to_frame()
    intercept, slope = fits.line
    error = np.sqrt(fits.line_covariance[1, 1])
    print(f"\n{method}: c = {intercept:.3f} + {slope:.2e} (se {error:.1e}) x Elo")
    print("| Elo | N | s | se | c | se | c_fit | s_fit | se | mm proj | mm act | ad proj | ad act "
          "| Qfit |")  # fmt: skip
    print("|---" * 14 + "|")
    for row in table.iter_rows(named=True):
        print(
            f"| {row['level']:.0f} | {row['n']} | {row['s']:.3f} | {row['se_s']:.3f} "
            f"| {row['c']:.3f} | {row['se_c']:.3f} | {row['c_fit']:.3f} | {row['s_fit']:.3f} "
            f"| {row['se_s_fit']:.3f} | {100 * row['mm_projected']:.1f} "
            f"| {100 * row['mm_actual']:.1f} | {row['ad_projected']:.4f} "
            f"| {row['ad_actual']:.4f} | {row['qfit']:.2f} |"
        )
    shown = ("s", "c", "s_fit", "ad_actual", "mm_actual")
    values = {name: stats.spearmanr(table["level"], table[name]).statistic for name in shown}
    print("Spearman with Elo: " + ", ".join(f"{k} {v:.2f}" for k, v in values.items()))
    off = np.abs((table["mm_projected"] - table["mm_actual"]).to_numpy()).max()
    print(f"match rate projected within {100 * off:.1f} points of actual")


def _models(spreads: Spreads, folds: int, *, everything: bool) -> None:
    candidates = standard_candidates(spreads, everything=everything)
    begun = time.monotonic()

    def tell(news: Progress) -> None:
        spent = time.monotonic() - begun
        print(f"{spent:7.0f} s  {news.done} of {news.total}: {news.note}", file=sys.stderr)

    found = compare(spreads, candidates, folds=folds, progress=tell)
    print("\n| model | parameters | log-loss | Qfit | worst match, points | worst error, % "
          "| error in all, % | cells passed | admitted | within noise |")  # fmt: skip
    print("|---" * 10 + "|")
    for row in found.table.iter_rows(named=True):
        print(
            f"| {row['name']} | {row['parameters']} | {row['log_loss']:.4f} | {row['qfit']:.3f} "
            f"| {100 * row['mm_worst']:.1f} | {100 * row['ad_worst']:.1f} "
            f"| {100 * row['ad_overall']:+.1f} | {row['cells_passed']} of {row['cells']} "
            f"| {'yes' if row['admitted'] else 'no'} | {'yes' if row['within_noise'] else 'no'} |"
        )
    best = found.table["name"][0]
    print(f"\nThe gate of {best}, band by band:")
    gate = found.gates.filter(pl.col("name") == best)
    print("| band | N | match proj | act | se | error proj | act | se | slips>1 proj | act "
          "| slips>3 proj | act | passes |")  # fmt: skip
    print("|---" * 13 + "|")
    for row in gate.iter_rows(named=True):
        print(
            f"| {row['band']} | {row['n']} | {100 * row['mm_projected']:.1f} "
            f"| {100 * row['mm_actual']:.1f} | {100 * row['mm_se']:.1f} "
            f"| {row['ad_projected']:.4f} | {row['ad_actual']:.4f} | {row['ad_se']:.4f} "
            f"| {100 * row['slips1_projected']:.2f} | {100 * row['slips1_actual']:.2f} "
            f"| {100 * row['slips3_projected']:.2f} | {100 * row['slips3_actual']:.2f} "
            f"| {'yes' if row['passes'] else 'no'} |"
        )


if __name__ == "__main__":
    main()
