"""Comparison of models: held-out by group, on the same decisions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.choice.evaluation.summaries import rank_frequencies
from milepost.choice.model import ChoiceModel
from milepost.choice.projections import RANKS, SLIPS
from milepost.choice.spreads import Floats, Ints, Spreads
from milepost.errors import InputError
from milepost.fit.agent import NotConvergedWarning, fit_model
from milepost.fit.comparison.gate import HeldOut, gate_table
from milepost.fit.methods.smooth import fit_smooth
from milepost.io.progress import Progress, Report
from milepost.io.shown import Shown

BAND_WIDTH = 200.0
_UNRATED = -(10**9)
BAND_EDGE = 150.0
"""Bands begin at 1550, 1750, …: two hundreds each, and neither is cut in two."""


@dataclass(frozen=True)
class Candidate:
    """A model and how it is fitted."""

    model: ChoiceModel
    """The model."""
    method: str = "likelihood"
    """See `milepost.fit.fit_agent`; ``"smooth"`` lets the parameters follow the rating, fitted by
    likelihood to all bands at once."""
    fixed: tuple[tuple[str, float], ...] = ()
    """Parameters that are given, by name."""
    degree: int | tuple[tuple[str, int], ...] = 1
    """Degree of the polynomials of a smooth fit, for all or by parameter."""

    def __post_init__(self) -> None:
        """Refuse what would be ignored."""
        if self.method == "smooth" and self.fixed:
            raise InputError("a smooth fit fits all parameters: none can be given")

    @property
    def size(self) -> int:
        """How many numbers are fitted (in each band, unless smooth)."""
        if self.method != "smooth":
            return len(self.model.parameters) - len(self.fixed)
        if isinstance(self.degree, int):
            return len(self.model.parameters) * (self.degree + 1)
        given = dict(self.degree)
        return sum(given.get(name, 1) + 1 for name in self.model.parameters)

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.model.name}, {self.method}"


@dataclass(frozen=True, eq=False)
class Comparison(Shown):
    """Held-out scores of several candidates on the same decisions."""

    table: pl.DataFrame
    """One row a candidate, best log-loss first."""
    gates: pl.DataFrame
    """One row a candidate and band: the admission gate."""
    folds: int
    """Folds of the cross-validation, by group."""
    failed: tuple[tuple[str, str], ...] = ()
    """Candidates that could not be fitted, with the reason."""

    @property
    def admitted(self) -> tuple[str, ...]:
        """The candidates that passed the gate in every band, best log-loss first."""
        return tuple(self.table.filter(pl.col("admitted"))["name"])

    def to_frame(self) -> pl.DataFrame:
        """Return the table, one row a candidate."""
        return self.table

    def __repr__(self) -> str:
        """Say which candidate predicts best."""
        best, loss = self.table.select("name", "log_loss").row(0)
        return (
            f"Comparison({len(self.table)} models, {self.folds} folds; best unseen: {best}, "
            f"{loss:.4f} nats)"
        )

    def __str__(self) -> str:
        """Show the table and the gate."""
        shown = self.table.select(
            "name", "log_loss", "qfit", "ad_overall", "cells_passed", "cells", "admitted"
        )
        with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, fmt_str_lengths=60):
            return f"{shown}\n{self.gate_text()}"

    def gate_text(self) -> str:
        """Return the gate in lines: a letter for each criterion in each band."""
        lines = ["gate, band by band: m match rate, e error, s slips over 1, S over 3; - fails"]
        for name in self.table["name"]:
            marks = []
            for row in self.gates.filter(pl.col("name") == name).iter_rows(named=True):
                passed = [row[f"{key}_passes"] for key in ("mm", "ad", "slips1", "slips3")]
                letters = "".join(a if b else "-" for a, b in zip("mesS", passed, strict=True))
                marks.append(f"{row['band']} {letters}")
            lines.append(f"  {name}: {', '.join(marks)}")
        lines += [f"  {name}: not compared, {reason}" for name, reason in self.failed]
        return "\n".join(lines)


def compare(
    spreads: Spreads,
    candidates: Mapping[str, Candidate] | Sequence[Candidate],
    *,
    folds: int = 5,
    bands: npt.ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    progress: Report | None = None,
) -> Comparison:
    """Compare models by what they say of groups they have not seen.

    Each candidate is fitted in each band of choosers on all folds but one, and scored on that one
    (a smooth fit takes all bands at once). Every score is of decisions that the fit had not seen.

    Parameters
    ----------
    spreads
        The decisions.
    candidates
        What to compare, by name or in a list.
    folds
        Folds; whole groups go into one fold, and all candidates get the same folds.
    bands
        A label for each decision [default: ratings in bands 200 wide, or all in one].
    rng
        Draws the folds [default: seed 2011].
    progress
        Called with the candidates done; the note is the name of the next.

    Raises
    ------
    InputError
        If there are fewer groups than folds.
    """
    named = (
        dict(candidates)
        if isinstance(candidates, Mapping)
        else {each.name: each for each in candidates}
    )
    if len(named) < len(candidates):
        raise InputError("two candidates have the same name: give names of your own")
    labels, codes = rating_bands(spreads, bands)
    fold = split_folds(spreads, folds, rng or np.random.default_rng(2011))
    rows, gates = [], []
    failed: list[tuple[str, str]] = []
    for done, (name, candidate) in enumerate(named.items()):
        if progress is not None:
            progress(Progress(done, len(named), name))
        try:
            with warnings.catch_warnings():
                # The table says whether all fits converged.
                warnings.simplefilter("ignore", NotConvergedWarning)
                said, converged = _held_out(spreads, candidate, fold, folds, codes, labels)
        except InputError as error:
            failed.append((name, str(error)))
            continue
        gate = gate_table(said, codes, labels)
        share = said.weights / said.weights.sum()
        frequency_gap = said.frequencies - said.actual_frequencies
        rows.append(
            {
                "name": name,
                "parameters": candidate.size,
                "log_loss": -float(share @ said.ln_chosen),
                "qfit": float(10_000 * (frequency_gap[:RANKS] ** 2).mean()),
                "mm_worst": _worst(gate["mm_projected"] - gate["mm_actual"]),
                "ad_worst": _worst(gate["ad_projected"] / gate["ad_actual"] - 1),
                "ad_overall": float(share @ said.error / (share @ said.actual_error) - 1),
                "cells_passed": _cells(gate),
                "cells": 4 * len(gate),
                "admitted": bool(gate["passes"].all()) and converged,
                "within_noise": bool(gate["within_noise"].all()),
                "converged": converged,
            }
        )
        gates.append(gate.with_columns(pl.lit(name).alias("name")).select("name", *gate.columns))
    if not rows:
        raise InputError("no candidate could be fitted: " + "; ".join(map(": ".join, failed)))
    table = pl.DataFrame(rows).sort("log_loss")
    return Comparison(table, pl.concat(gates), folds, tuple(failed))


def _worst(values: pl.Series) -> float:
    return float(np.abs(values.to_numpy()).max())


def _cells(gate: pl.DataFrame) -> int:
    columns = [name for name in gate.columns if name.endswith("_passes")]
    return int(sum(int(gate[name].sum()) for name in columns))


def rating_bands(spreads: Spreads, bands: npt.ArrayLike | None = None) -> tuple[list[str], Ints]:
    """Return the names of bands of choosers and each decision's band [default: 200 points]."""
    if bands is not None:
        labels, codes = np.unique(np.asarray(bands), return_inverse=True)
        if len(codes) != len(spreads):
            raise InputError(f"{len(codes)} bands for {len(spreads)} decisions")
        return [str(label) for label in labels], codes.astype(np.int64)
    if spreads.rating is None or not np.isfinite(spreads.rating).any():
        return ["all"], np.zeros(len(spreads), dtype=np.int64)
    known = np.isfinite(spreads.rating)
    place = np.full(len(spreads), _UNRATED)
    place[known] = np.floor((spreads.rating[known] - BAND_EDGE) / BAND_WIDTH).astype(np.int64)
    values, codes = np.unique(place, return_inverse=True)
    lows = values * int(BAND_WIDTH) + int(BAND_EDGE)
    names = [
        "no rating" if value == _UNRATED else f"{low}-{low + int(BAND_WIDTH) - 1}"
        for value, low in zip(values, lows, strict=True)
    ]
    return names, codes.astype(np.int64)


def split_folds(spreads: Spreads, folds: int, rng: np.random.Generator) -> Ints:
    """Return the fold of each decision; whole groups go into one fold."""
    _, codes = np.unique(spreads.groups, return_inverse=True)
    count = int(codes.max()) + 1
    if folds < 2 or count < folds:
        raise InputError(f"{count} groups cannot be held out in {folds} folds")
    return (rng.permutation(count) % folds)[codes]


def _held_out(
    spreads: Spreads,
    candidate: Candidate,
    fold: Ints,
    folds: int,
    bands: Ints,
    labels: Sequence[str],
) -> tuple[HeldOut, bool]:
    model = candidate.model
    theta = np.empty((len(spreads), len(model.parameters)))
    converged = True
    for number in range(folds):
        unseen = fold == number
        if candidate.method == "smooth":
            degree = (
                candidate.degree if isinstance(candidate.degree, int) else dict(candidate.degree)
            )
            smooth = fit_smooth(spreads.take(~unseen), model, degree=degree, covariance=False)
            assert spreads.rating is not None
            theta[unseen] = smooth.theta(spreads.rating[unseen])
            converged &= smooth.converged
            continue
        for band in np.unique(bands):
            train = spreads.take(~unseen & (bands == band))
            try:
                fit = fit_model(
                    train,
                    model,
                    method=candidate.method,
                    fixed=dict(candidate.fixed),
                    covariance="none",
                )
            except InputError as error:
                raise InputError(f"band {labels[band]}: {error}") from error
            theta[unseen & (bands == band)] = fit.theta
            converged &= fit.converged
    return score_choices(spreads, model, theta), converged


def score_choices(spreads: Spreads, model: ChoiceModel, theta: Floats) -> HeldOut:
    """Return what a model says of each decision, with the parameters of a row each."""
    prepared = prepare(spreads, model)
    said = evaluate(model, prepared, theta)
    p = np.exp(ln_probabilities(model, prepared, theta))
    at = spreads.offsets[:-1] + spreads.chosen
    share = spreads.weights / spreads.weights.sum()
    longest = max(int(spreads.counts.max()), RANKS)
    frequencies, variances = np.zeros(longest), np.zeros(longest)
    rank_frequencies(spreads.offsets, p, share, frequencies, variances)
    over = [prepared.loss > limit for limit in SLIPS]
    starts = spreads.offsets[:-1]
    actual = np.bincount(spreads.chosen, weights=share, minlength=longest).astype(np.float64)
    return HeldOut(
        ln_chosen=said.ln_chosen,
        first=said.first,
        error=said.error,
        error_squared=said.error_squared,
        slips=np.stack([np.add.reduceat(np.where(o, p, 0.0), starts) for o in over], axis=1),
        hit=(spreads.chosen == 0).astype(np.float64),
        actual_error=prepared.delta[at],
        actual_slips=np.stack([o[at] for o in over], axis=1).astype(np.float64),
        frequencies=frequencies,
        actual_frequencies=actual,
        weights=spreads.weights,
    )
