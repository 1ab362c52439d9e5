"""The games of the 2007 paper's experiments, and the histories fitted to them, each fitted once.

The paper used 3.5 million games of 1850-2006 of a commercial collection. Here they are those of
``otb_results.parquet``: on the paper's years and on all years since 1850.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from milepost import __version__
from milepost.errors import InputError
from milepost.history import (
    History,
    SkippedResultsWarning,
    fit_history,
    load_history,
    save_history,
)
from milepost.history.models import Model, described, make_model
from milepost.io.files import write_text
from milepost.papers.code import code_digest
from milepost.papers.experiment import FAILS, HOLDS, TOO_LITTLE, MissingDataError, Verdict
from milepost.papers.folder import Folder

TABLE = "otb_results.parquet"
SPANS = {"1850-2006": (1850, 2006), "all years": (1850, 9999)}
"""The years as in the paper, and all; before 1850 there is too little."""
LEFT_OUT = "gnu/"
"""A source whose games are cut short and misdated, so that many are there twice."""
THIN_BEFORE = 1990
"""Before this year the table holds the best-known events only."""
PAPER: dict[str, Any] = {"mu": 1200.0, "sigma": 400.0, "beta": 480.0, "tau": 60.0}
"""The paper's numbers. The margins' prior is not printed in it: those of `milepost.history`."""
ABOUT = (
    "otb_results.parquet since 1850, names by key, without the source gnu/ (games cut short, "
    "misdated and so counted twice); fast games count; a skill is constant within a year; nobody "
    "has a first mover's advantage, as in the paper"
)


@lru_cache(maxsize=4)
def read_games(table: Path) -> pl.DataFrame:
    """Return the games since 1850 as results, with `fast` beside them.

    Raises
    ------
    InputError
        If the table lacks a column, or holds no such game.
    """
    wanted = ["year", "white_key", "black_key", "result", "source", "fast"]
    try:
        frame = pl.read_parquet(table, columns=wanted)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{table}: {str(error).splitlines()[0]}") from error
    score = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
    games = frame.filter(
        pl.col("year") >= 1850,
        ~pl.col("source").cast(pl.String).str.starts_with(LEFT_OUT),
        pl.col("white_key") != pl.col("black_key"),
    ).select(
        time=pl.col("year").cast(pl.Int32),
        player_1="white_key",
        player_2="black_key",
        score=pl.col("result").cast(pl.String).replace_strict(score, default=None),
        first_mover=pl.lit(1, dtype=pl.Int8),
        fast="fast",
    )
    games = games.drop_nulls(["time", "player_1", "player_2", "score"])
    if games.is_empty():
        raise InputError(f"{table} holds no game since 1850")
    return games


def games_of(folder: Folder, span: str = "1850-2006") -> pl.DataFrame:
    """Return the games of a span of years (see `SPANS`)."""
    first, last = SPANS[span]
    return read_games(folder.path(TABLE)).filter(pl.col("time").is_between(first, last))


def history_of(
    folder: Folder, span: str = "1850-2006", model: str = "ttt", *, newcomers: str | None = None
) -> History:
    """Return the history of a span with the paper's numbers; fitted once and kept.

    Parameters
    ----------
    folder
        The data; what was fitted is kept in its `work`.
    span
        One of `SPANS`.
    model
        ``"trueskill"`` (the filter), ``"ttt"`` or ``"ttt-d"``.
    newcomers
        ``"learn"`` for a level of newcomers that is learned; the paper has none.
    """
    games = games_of(folder, span)
    name = f"{span.replace(' ', '-')}-{model}" + ("-newcomers" if newcomers else "")
    learned = {"newcomers": newcomers} if newcomers else {}
    # The paper's margin follows from the share of draws.
    margin = {"draw": "share"} if model in ("ttt", "trueskill") else {}
    return _fitted(
        folder.work / "histories" / name, games, make_model(model, **PAPER, **margin, **learned)
    )


def _fitted(kept: Path, games: pl.DataFrame, model: Model) -> History:
    made = {
        "made_by": f"milepost {__version__}", "code": code_digest(_fitted),
        "games": games_digest(games), **described(model),
    }  # fmt: skip
    note = kept / "made.json"
    try:
        if json.loads(note.read_text(encoding="utf-8")) == made:
            return _loaded(kept, note.stat().st_mtime_ns)
    except (OSError, ValueError):
        pass  # not there, or of an interrupted run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedResultsWarning)
        found = fit_history(games.drop("fast"), model)
    note.unlink(missing_ok=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    save_history(found, kept)
    write_text(note, json.dumps(made, indent=1, sort_keys=True) + "\n")
    return found


@lru_cache(maxsize=2)
def _loaded(kept: Path, _when: int) -> History:
    return load_history(kept)


def games_digest(games: pl.DataFrame) -> str:
    """Return a number that changes when the games do."""
    columns = ["time", "player_1", "player_2", "score"]
    rows = games.select(columns).hash_rows(seed=2007)
    return hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()[:16]


def known_players(history: History, players: Sequence[str]) -> list[str]:
    """Return those of the players that a history knows, in order."""
    here = set(history.curves["player"].filter(history.curves["player"].is_in(list(players))))
    return [player for player in players if player in here]


def need_players(history: History, *players: str) -> None:
    """Refuse to go on without a player.

    Raises
    ------
    MissingDataError
        If the games hold none of his.
    """
    missing = [player for player in players if player not in known_players(history, players)]
    if missing:
        raise MissingDataError(f"{TABLE} holds no games of {'; '.join(missing)}")


def verdict_of(probability: float) -> Verdict:
    """Return what a probability says of a claim: 95 % and more, or 5 % and less, decide."""
    if probability >= 0.95:
        return HOLDS
    return FAILS if probability <= 0.05 else TOO_LITTLE
