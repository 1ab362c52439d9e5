"""A history on disk: Parquet tables and a JSON file, in one folder; nothing is pickled.

``curves.parquet`` holds the curves and, for each row, the messages that questions between periods
need; ``paths.parquet`` what was learned by period; ``results.parquet`` the results, so that a
history read back can be updated (from a fresh start: the games' messages are not kept, for with
them an update takes as many sweeps, or one fewer).
``names.parquet`` holds the players' names as written, by their keys, where they are known. What a
joint history adds is told in `milepost.history.joint.saving`.
``history.json`` is written last: a folder without it is not a history.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost import __version__
from milepost.errors import InputError
from milepost.history.baselines.histories import newcomer
from milepost.history.baselines.step_ratings import Ratings
from milepost.history.beliefs import Lives
from milepost.history.joint.moves_fit import MovesFit
from milepost.history.joint.saving import FILES, load_moves, save_moves
from milepost.history.models import (
    TTT,
    TTTD,
    Elo,
    Glicko2,
    Model,
    described,
    make_model,
    model_type,
    options_of,
)
from milepost.history.result import History, Kept
from milepost.history.sweeping import Sweeping
from milepost.history.ttt.graph import Longs
from milepost.io.files import make_folder, read_table, write_table, write_text
from milepost.io.outputs import cannot_write
from milepost.io.suggest import did_you_mean
from milepost.tables import CURVES

_FORMAT = 2
"""Format 1 had the options of all models in one, and no names."""
_MESSAGES = ("past_pi", "past_tau", "future_pi", "future_tau")


def save_history(history: History, folder: str | Path) -> None:
    """Write a history into a folder: Parquet tables, and JSON for the rest.

    Raises
    ------
    OutputError
        If it cannot be written.
    InputError
        If it is shown on another scale than its own.
    """
    folder = Path(folder)
    if not history.scale.own:
        raise InputError(
            f"this history is shown on the scale {history.scale.name}: save the one it was made "
            "from, and choose the scale when it is asked"
        )
    try:
        make_folder(folder)
        # First the file that makes it a history, then what a history without it would inherit.
        others = ("results.parquet", "names.parquet", "provenance.json", *FILES)
        for name in ("history.json", *others):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    columns: dict[str, Any] = {}
    moves = history.moves
    results_only = None if moves is None else moves.results_only
    for name, lives in (
        ("skill", history._skill), ("margin", history._margins), ("results", results_only),
    ):  # fmt: skip
        if isinstance(lives, Ratings):
            columns["clock"] = lives.clock
        elif lives is not None:
            columns["clock"] = lives.clock
            columns |= {f"{name}_{m}": lives.table[:, i] for i, m in enumerate(_MESSAGES)}
            if lives.steps is not None:
                columns["step"] = lives.steps
            if lives.pace is not None:
                columns["pace"] = lives.pace
    curves = history.curves.with_columns(pl.Series(k, v) for k, v in columns.items())
    write_table(curves, folder / "curves.parquet")
    write_table(history.paths, folder / "paths.parquet")
    if history._kept is not None:
        rows = np.sort(history._kept.row)
        write_table(history._kept.results[rows], folder / "results.parquet")
    if history.names:
        names = {"key": list(history.names), "name": list(history.names.values())}
        write_table(pl.DataFrame(names).sort("key"), folder / "names.parquet")
    about = {
        "format": _FORMAT,
        "made_by": f"milepost {__version__}",
        "options": described(history.model),
        "period": history.period,
        "sweeping": asdict(history.sweeping),
        "log_evidence": history.log_evidence,
        "converged": history.converged,
        "sweeps": history.sweeps,
        "remaining_error": history.remaining_error,
        "games": history.games,
        "players": history.players,
        "draw_margin": history.draw_margin,
        "skipped": history.skipped,
        "improper": history.improper,
        "draw_share": history.draw_share,
        "apart": history.apart,
        "answers": history._skill is not None,
        "keeps_results": history._kept is not None,
        "moves": None if moves is None else save_moves(moves, folder),
    }
    write_text(folder / "history.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def load_history(folder: str | Path) -> History:
    """Read a history that `save_history` wrote, or an earlier version.

    Raises
    ------
    InputError
        If the folder holds none, or one of a later version.
    """
    folder = Path(folder)
    try:
        about = json.loads((folder / "history.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        near = [path.parent.name for path in Path().glob("*/history.json")]
        raise InputError(
            f"{folder} holds no history: nothing is there{did_you_mean(folder, near)}"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder} holds no history: {error}") from error
    form = about.get("format") if isinstance(about, dict) else None
    if form not in (1, _FORMAT):
        raise InputError(f"{folder}: a history of format {form}; this version reads 1 to {_FORMAT}")
    try:
        return _loaded(about, folder)
    except (KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{folder} holds no whole history: {error!r}") from error


def _loaded(about: dict[str, Any], folder: Path) -> History:
    table = read_table(folder / "curves.parquet")
    model, period, sweeping = _settings(about)
    results = folder / "results.parquet"
    kept = None
    # Saved by earlier versions, a history of ratings may stand beside another one's results.
    keeps = about.get("keeps_results", not isinstance(model, Elo | Glicko2))
    if keeps and results.exists():
        frame = read_table(results)
        kept = Kept(frame, np.arange(frame.height), None)
    return History(
        curves=CURVES.conform(table.select(c for c in CURVES.names if c in table.columns)),
        log_evidence=about["log_evidence"],
        converged=about["converged"],
        sweeps=about["sweeps"],
        remaining_error=about["remaining_error"],
        model=model,
        period=period,
        games=about["games"],
        players=about["players"],
        draw_margin=about["draw_margin"],
        paths=read_table(folder / "paths.parquet"),
        skipped=about["skipped"],
        improper=about["improper"],
        draw_share=about.get("draw_share", float("nan")),
        apart=about.get("apart"),
        names=_names(folder / "names.parquet"),
        sweeping=sweeping,
        moves=_moves(about.get("moves"), table, folder, model, period),
        _skill=(
            _ratings(table, model, period, earlier="keeps_results" not in about)
            if isinstance(model, Elo | Glicko2)
            else _lives(table, "skill", period, offset=model.mu, tau=model.tau)
        ),
        _margins=(
            _lives(table, "margin", period, offset=0.0, tau=model.margin_tau)
            if isinstance(model, TTTD)
            else None
        ),
        _kept=kept,
    )


def _moves(
    about: dict[str, Any] | None, table: pl.DataFrame, folder: Path, model: Model,
    period: str | float,
) -> MovesFit | None:  # fmt: skip
    if about is None or not isinstance(model, TTT | TTTD):
        return None
    results_only = _lives(table, "results", period, offset=model.mu, tau=model.tau)
    return load_moves(about, folder, results_only)


def _settings(about: dict[str, Any]) -> tuple[Model, str | float, Sweeping]:
    options = dict(about["options"])
    name = options.pop("model")
    if about["format"] > 1:
        return make_model(name, **options), about["period"], Sweeping(**about["sweeping"])
    own = {option: options[option] for option in options_of(model_type(name))}
    controls = {control.name: options[control.name] for control in fields(Sweeping)}
    return make_model(name, **own), options["period"], Sweeping(**controls)


def _names(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    return dict(read_table(path).select("key", "name").iter_rows())


def _lives(
    table: pl.DataFrame, name: str, period: str | float, *, offset: float, tau: float
) -> Lives | None:
    if f"{name}_{_MESSAGES[0]}" not in table.columns:
        return None
    if period == "game" and "step" not in table.columns:
        # Once saved with a clock of all games, by which no time can be asked for.
        return None
    names, start = _players(table)
    return Lives(
        names=names,
        start=start,
        clock=table["clock"].to_numpy(),
        table=np.stack([table[f"{name}_{m}"].to_numpy() for m in _MESSAGES], axis=1),
        offset=offset,
        drift=tau**2,
        steps=table["step"].to_numpy() if "step" in table.columns else None,
        pace=table["pace"].to_numpy() if "pace" in table.columns else None,
    )


def _ratings(
    table: pl.DataFrame, model: Elo | Glicko2, period: str | float, *, earlier: bool
) -> Ratings | None:
    # Histories of ratings were once saved without a clock, and by game with one of all games.
    if "clock" not in table.columns or (earlier and period == "game"):
        return None
    names, start = _players(table)
    return Ratings(
        names=names,
        start=start,
        clock=table["clock"].to_numpy(),
        mean=table["mean"].to_numpy(),
        sd=table["sd"].fill_null(float("nan")).to_numpy(),
        newcomer=newcomer(model),
    )


def _players(table: pl.DataFrame) -> tuple[pl.Series, Longs]:
    """The players of a table sorted by them, and where the rows of each begin."""
    runs = table.select(pl.col("player").rle()).unnest("player")
    start = np.concatenate([[0], runs["len"].cast(pl.Int64).cum_sum().to_numpy()])
    return runs["value"].rename("player"), start.astype(np.int64)
