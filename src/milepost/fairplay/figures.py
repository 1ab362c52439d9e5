"""All figures of a check as plain values, for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost.fairplay import words
from milepost.fairplay.deep.look import DeepTest
from milepost.fairplay.full import FullTest
from milepost.fairplay.screen import EventAsAWhole
from milepost.io.files import write_text


def figures_of(
    table: pl.DataFrame,
    event: EventAsAWhole | None,
    full: Sequence[FullTest],
    luck: pl.DataFrame,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """Return the figures of a check.

    Parameters
    ----------
    table
        The screening, as it is to be shown.
    event, full, luck
        The other parts.
    labels
        What to call the players, by their keys.
    """
    return {
        "about": list(words.OPENING),
        "performances": table.to_dicts(),
        "event": None if event is None else _event(event),
        "full": [_full(each, labels) for each in full],
        "results": luck.with_columns(pl.col("player").replace(dict(labels))).to_dicts(),
    }


def write_figures(figures: Mapping[str, Any], path: str | Path) -> None:
    """Write figures as JSON, whole or not at all."""
    write_text(Path(path), json.dumps(_plain(figures), indent=1, ensure_ascii=False) + "\n")


def _event(event: EventAsAWhole) -> dict[str, Any]:
    return {
        **{
            name: getattr(event, name)
            for name in ("players", "mean_index", "mean_low", "mean_high", "largest_p")
        },
        "discoveries": event.discoveries,
        "quantiles": event.quantiles.to_dicts(),
        "counts": event.counts.to_dicts(),
    }


def _full(test: FullTest, labels: Mapping[str, str]) -> dict[str, Any]:
    real = test.performance
    opponents = pl.col("opponent").replace(dict(labels))
    return {
        "player": labels.get(real.player, "Player"),
        "rating": real.rating,
        "turns": len(real),
        "games": real.games,
        "propositions": [words.ALONE, words.HELPED],
        "ln_e": real.evidence.ln_e,
        "ln_e_worst": real.evidence.ln_e_worst,
        "ln_menu": real.evidence.ln_menu,
        "ln_counts": real.evidence.ln_counts,
        "deep_look": None if test.deep is None else _deep(test.deep),
        "ln_e_reported": test.ln_e,
        "support": words.support(test.ln_e),
        "index": asdict(test.index),
        "chance": asdict(test.chance),
        "figures": test.figures.to_dicts(),
        "correlation": test.correlation.tolist(),
        "alternatives": test.alternatives.to_dicts(),
        "shares": [asdict(share) for share in test.shares],
        "power": [asdict(cell) for cell in test.power],
        "sensitivity": test.sensitivity.to_dicts(),
        "sequence": test.sequence.with_columns(opponents).drop("game_id").to_dicts(),
        "trace_caution": "Single moves are not evidence.",
        "trace": test.trace.drop("game_id", strict=False).to_dicts(),
        "posterior": test.posterior.to_dicts(),
        "too_little": test.too_little,
    }


def _deep(test: DeepTest) -> dict[str, Any]:
    own = {name: value for name, value in vars(test).items() if name not in ("power", "pull")}
    return {
        **own,
        "power": [asdict(cell) for cell in test.power],
        "depth": test.pull.depth,
        "counts": test.pull.counts,
        "honest": test.pull.rests_on,
    }


def _plain(value: Any) -> Any:
    """Numbers of numpy become those of Python; what is no number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
