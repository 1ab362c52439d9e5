"""What each family of terms buys: models of choice compared as maps of ratings, on unseen games.

    python -m studies.agents                                     # the maps that calibrations try
    python -m studies.agents joint-depths joint --cuts 30 -o agents
    python -m studies.agents --models my_models.py               # a file with MODELS = {name: …}

A model is the name of a map (`milepost.intrinsic.calibration.maps.KINDS`), a `Candidate` with
parameters that follow Elo (method "smooth"), or a function from spreads and a map to set out from
to a `RatingMap`. Each is fitted on four folds of the random turns of 2011-2014 and read on the
fifth; then, fitted to all of them, read on the whole games of other years. For each: log-loss, with
the difference to the first model (error by game); error at 250 turns over random cuts, its error,
bound, information compared with lichess accuracy; overdispersion of player-games; cells of the
gate; tail; and the worst class by evaluation, move number and Elo. `-o NAME` writes NAME.json (all
classes too) and NAME.md. Other turns: `--decisions FILE`, `--whole-games FILE`, tables of decisions
as `milepost spreads` writes them.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from studies.real_spreads import ANALYSIS, RANDOM_TURNS, WHOLE_GAMES, Turns, read_decisions

from milepost.choice import Spreads
from milepost.fit.agent import NotConvergedWarning
from milepost.fit.comparison.compare import Candidate, split_folds
from milepost.fit.methods.smooth import fit_smooth
from milepost.intrinsic.calibration.accuracy import CUTS, Contender, accuracy_table
from milepost.intrinsic.calibration.bias import (
    ELO_BANDS,
    MOVE_BANDS,
    QUARTERS,
    Biases,
    measure_biases,
)
from milepost.intrinsic.calibration.build import judge
from milepost.intrinsic.calibration.held_out import (
    MapFitter,
    Unseen,
    read_folds,
    read_unseen,
    simple_contenders,
)
from milepost.intrinsic.calibration.maps import CENTRE, KINDS, UNIT, RatingMap, fit_map
from milepost.intrinsic.calibration.paths import PolynomialPath
from milepost.intrinsic.rating.simple_measures import LICHESS

TURNS = 250
Model = str | Candidate | MapFitter


def fitter_of(model: Model) -> str | MapFitter:
    """Return what `read_unseen` takes: the name of a map, or a function that fits one."""
    if isinstance(model, str) or not isinstance(model, Candidate):
        return model
    degree = model.degree if isinstance(model.degree, int) else dict(model.degree)

    def fit(spreads: Spreads, start: RatingMap | None) -> RatingMap:
        beta = start.smooth.beta if start is not None and start.smooth is not None else None
        found = fit_smooth(
            spreads, model.model, degree=degree, centre=CENTRE, unit=UNIT, start=beta,
            covariance=False,
        )  # fmt: skip
        return RatingMap("joint", PolynomialPath.of(found), smooth=found)

    return fit


def fit_all(model: Model, spreads: Spreads) -> RatingMap:
    """Fit a model to all decisions."""
    fitter = fitter_of(model)
    if isinstance(fitter, str):
        return fit_map(fitter, spreads, covariance=False)
    return fitter(spreads, None)


def examine(
    models: Mapping[str, Model],
    turns: Turns,
    *,
    whole: Turns | None = None,
    cuts: int = CUTS,
    resamples: int = 100,
    seed: int = 2012,
    folds_seed: int = 2011,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Fit and judge models.

    Returns
    -------
    table, details
        One row a model; and by model all classes, the tail and the gate.
    """
    spreads = turns.spreads
    fold = split_folds(spreads, 5, np.random.default_rng(folds_seed))
    contenders: dict[str, Contender] = simple_contenders(spreads, fold)
    rows: list[dict[str, Any]] = []
    details: dict[str, Any] = {}
    first: dict[str, Unseen] = {}
    for name, model in models.items():
        begun = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", NotConvergedWarning)
            start = fit_all(model, spreads)
            unseen = read_unseen(fitter_of(model), spreads, fold, start=start)
        converged = not any(issubclass(each.category, NotConvergedWarning) for each in caught)
        found = measure_biases(
            unseen, spreads, move_numbers=turns.move_numbers, players=turns.colours,
            events=turns.events,
        )  # fmt: skip
        row: dict[str, Any] = {
            "model": name,
            "coefficients": len(start.path.coefficients),
            "converged": converged,
            **_figures(found, unseen),
            **_gain(first.setdefault("random", unseen), unseen, spreads),
        }
        contenders[name] = unseen.contender
        details[name] = {"random": _details(found)}
        if whole is not None:
            abroad = read_folds([start], whole.spreads)
            far = measure_biases(
                abroad, whole.spreads, move_numbers=whole.move_numbers, players=whole.colours,
                events=whole.events,
            )  # fmt: skip
            told = _figures(far, abroad) | _gain(
                first.setdefault("whole", abroad), abroad, whole.spreads
            )
            row |= {f"whole {key}": value for key, value in told.items()}
            details[name]["whole"] = _details(far)
        rows.append(row)
        tell(f"{name}: log-loss {found.log_loss:.4f}, {time.monotonic() - begun:.0f} s")
    accuracy = accuracy_table(
        contenders, spreads, sizes=(TURNS,), cuts=cuts, resamples=resamples, seed=seed,
        against=LICHESS,
    )  # fmt: skip
    details["accuracy"] = accuracy.to_dicts()
    kept = ["rmse", "rmse_sd", "rmse_se", "calibrated", "calibrated_se", "slope", "bound", "ratio",
            "ratio_low", "ratio_high"]  # fmt: skip
    table = pl.DataFrame(rows, infer_schema_length=None).join(
        accuracy.select(pl.col("map").alias("model"), *kept), on="model", maintain_order="left"
    )
    return table, details


def _figures(found: Biases, unseen: Unseen) -> dict[str, Any]:
    gate = judge(found.gate, unseen.said)
    figures: dict[str, Any] = {
        "log_loss": found.log_loss,
        "overdispersion": found.overdispersion,
        "overdispersion_se": found.overdispersion_se,
        "cells": gate["cells"],
        "cells_passed": gate["cells_passed"],
        "cells_refuted": gate["cells_refuted"],
        "admitted": gate["admitted"],
    }
    for row in found.tail.iter_rows(named=True):
        figures |= {f"slips{row['over']:g}_z": row["z"]}
    for family in (QUARTERS, MOVE_BANDS, ELO_BANDS):
        worst = found.worst(family)
        figures |= {f"{family}_worst": worst["part"], f"{family}_bias": worst["bias"]}
        figures |= {f"{family}_se": worst["se"]}
    return figures


def _gain(base: Unseen, unseen: Unseen, spreads: Spreads) -> dict[str, float]:
    """Log-loss less than that of the first model, with its error by game."""
    gap = spreads.weights * (unseen.said.ln_chosen - base.said.ln_chosen)
    _, game = np.unique(spreads.groups, return_inverse=True)
    total = float(spreads.weights.sum())
    mean = float(gap.sum()) / total
    by_game = np.bincount(game, weights=gap - mean * spreads.weights)
    return {"gain": mean, "gain_se": float(np.sqrt((by_game**2).sum())) / total}


def _details(found: Biases) -> dict[str, Any]:
    return {
        "classes": found.classes.to_dicts(),
        "tail": found.tail.to_dicts(),
        "gate": found.gate.to_dicts(),
    }


def as_markdown(table: pl.DataFrame) -> str:
    """Return the table for a page."""
    parts = [_page(table, "")]
    if "whole log_loss" in table.columns:
        parts.append("Whole games of other years, fitted to all random turns:\n\n"
                     + _page(table, "whole "))  # fmt: skip
    return "\n\n".join(parts)


def _page(table: pl.DataFrame, prefix: str) -> str:
    heads = ["model", "coefficients", "log-loss", "gain ± se", "overdispersion", "gate",
             "slips > 3", "> 5", "worst quarter", "worst move band", "worst Elo band"]  # fmt: skip
    if not prefix:
        heads += [f"error at {TURNS}", "calibrated", "slope", "bound", "information"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in table.iter_rows(named=True):

        def get(name: str, row: Mapping[str, Any] = row) -> Any:
            return row[prefix + name]

        cells = [
            row["model"] + ("" if row["converged"] else " (not converged)"),
            str(row["coefficients"]),
            f"{get('log_loss'):.4f}",
            f"{get('gain'):+.4f} ± {get('gain_se'):.4f}",
            f"{get('overdispersion'):.2f} ± {get('overdispersion_se'):.2f}",
            f"{get('cells_passed')} of {get('cells')}, {get('cells_refuted')} refuted"
            + ("" if get("admitted") else ", **no**"),
            f"z {get('slips3_z'):+.1f}",
            f"z {get('slips5_z'):+.1f}",
        ]
        for family in (QUARTERS, MOVE_BANDS, ELO_BANDS):
            bias, se = get(f"{family}_bias"), get(f"{family}_se")
            cells.append(f"{get(f'{family}_worst')}: {bias:+.0f} ± {se:.0f}")
        if not prefix:
            cells += [
                _with_error(row, "rmse"),
                _with_error(row, "calibrated"),
                f"{row['slope']:.2f}",
                f"{row['bound']:.0f}",
                f"{row['ratio']:.2f}"
                + ("" if row["ratio_low"] is None
                   else f" ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"),
            ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_error(row: Mapping[str, Any], name: str) -> str:
    error = row[f"{name}_se"]
    return f"{row[name]:.0f}" + ("" if error is None else f" ± {error:.0f}")


def named_models(names: Iterable[str], file: str | None) -> dict[str, Model]:
    """Return the models to compare: maps by name, then those of a file."""
    models: dict[str, Model] = {name: name for name in names}
    if file is not None:
        models |= runpy.run_path(file)["MODELS"]
    return models or {kind: kind for kind in KINDS if kind != "error"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="maps by name")
    parser.add_argument("--models", help="a Python file with MODELS = {name: model}")
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2012)
    parser.add_argument("--decisions", type=Path, default=RANDOM_TURNS, help="turns to fit to")
    parser.add_argument("--whole-games", type=Path, default=WHOLE_GAMES, help="turns of others")
    parser.add_argument("--no-whole-games", action="store_true")
    parser.add_argument("-o", "--output", help="write this name with .json and .md")
    options = parser.parse_args(arguments)
    if not ANALYSIS.exists():
        print("skipped: ../shared/data/analysis is not there")
        return 0
    table, details = examine(
        named_models(options.names, options.models),
        read_decisions(options.decisions),
        whole=None if options.no_whole_games else read_decisions(options.whole_games),
        cuts=options.cuts,
        resamples=options.resamples,
        seed=options.seed,
        tell=lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(as_markdown(table))
    if options.output:
        text = json.dumps({"table": table.to_dicts(), "details": details}, indent=1)
        Path(f"{options.output}.json").write_text(text + "\n", encoding="utf-8")
        Path(f"{options.output}.md").write_text(as_markdown(table) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
