"""Move evidence for a history, as a whole job: from games and a store to a table of sites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from milepost.api.decisions import Decisions, decisions
from milepost.api.ratings import find_calibration
from milepost.errors import InputError
from milepost.history import History
from milepost.history.periods import clock_of
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.sites import make_sites, summary_of
from milepost.io.files import format_of, read_table, write_table
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs
from milepost.tables import as_frame

DESIGNS = ("whole", "random", "other")


@dataclass(frozen=True, eq=False, repr=False)
class Sites:
    """Move evidence by player and year."""

    table: pl.DataFrame
    """One row a player and year; see `milepost.tables.SITES`."""
    calibration: Calibration
    """The calibration that was used."""
    without_reference: int
    """Turns without a year, or of players whose Elo is not known: they are in no site."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """How they were made: version, options, digests of the inputs."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.table)

    def __repr__(self) -> str:
        """Return what there is, in a line or two."""
        told = summary_of(self.table)
        designs = ", ".join(self.table["design"].unique().sort())
        lines = [
            f"{told['sites']:,} sites of {told['players']:,} players",
            f"{told['turns']:,} turns of {told['games']:,} player-games, {designs}; "
            + self.calibration.name,
        ]
        if self.without_reference:
            lines.append(
                f"{self.without_reference:,} turns are in no site: no year, or no Elo to begin at"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""
        return self.table

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return self.table.to_pandas()

    def save(self, path: str | Path, *, form: str | None = None) -> None:
        """Write the table as Parquet or NDJSON; it says how it was made."""
        check_form(path, form)
        write_table(self.table, path, form=form, made=self.made)


def check_form(path: str | Path, form: str | None = None) -> None:
    """Refuse a format that holds no lists.

    Raises
    ------
    InputError
        If it is CSV.
    """
    if format_of(path, form) == "csv":
        raise InputError("sites hold a list of games each: write them as parquet or ndjson")


def sites(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    reference: float | pl.DataFrame | History | None = None,
    aliases: Any = None,
    first_move: int | None = None,
    design: str | None = None,
    plan: str | None = None,
    calibration: Calibration | str | Path | None = None,
    force: bool = False,
    progress: Report | None = None,
) -> Sites:
    """Make the move evidence of a joint history: one site a player and year.

    Parameters
    ----------
    inputs, store, plan
        Games or turns that are in a store, or decisions; see `milepost.decisions`.
    reference
        Where each player is expected to stand. Players' own Elo of the year counts where it is
        known; else this number. Or a joint history, or a table with the columns player, time and
        reference: then these count first. `None` = players without an Elo get no site.
    aliases
        Who is who: a table with the columns spelling and name, or its file. Sites go by the names
        there, so that they meet the players of a results table made by the same list.
    first_move
        Leave out turns before this move number: a deeper cut of book moves.
    design
        How turns were chosen: whole (games), random (turns) or other; `None` = as they look.
    calibration, force, progress
        See `milepost.rate`.

    Returns
    -------
    Sites

    Raises
    ------
    InputError
        If there is nothing to take, or no calibration for these evaluations.
    """
    if design is not None and design not in DESIGNS:
        raise InputError(f"expected one of {', '.join(DESIGNS)} as the design, got {design!r}")
    rated = decisions(inputs, store, plan=plan, progress=progress)
    chosen = find_calibration(calibration, rated)
    chosen.refuse_other(rated.setup, force=force)
    table = rated.table
    if first_move is not None:
        table = table.filter(pl.col("move_number") >= first_move)
    if aliases is not None:
        table = _renamed(table, aliases)
    expected = expected_of(reference) if isinstance(reference, History) else reference
    made = make_sites(
        table, chosen, reference=expected, setup=rated.setup, design=design, progress=progress
    )
    told = {
        "reference": reference if isinstance(reference, int | float) else type(reference).__name__,
        "first_move": first_move, "design": design, "calibration": chosen.name,
        "digest": rated.setup, "plan": plan, "force": force,
    }  # fmt: skip
    return Sites(
        table=made,
        calibration=chosen,
        without_reference=len(table) - int(made["n"].sum()),
        made=provenance("sites", told, [dict(each) for each in rated.inputs]),
    )


def expected_of(history: History) -> pl.DataFrame:
    """Return what a joint history expects of each player and year: player, time, reference.

    Raises
    ------
    InputError
        If it has no move evidence, and so no Elo.
    """
    if history.moves is None:
        raise InputError("expected a joint history as the reference: this one has no joint scale")
    time = [int(clock_of(each, history.period)) for each in history.curves["time"]]
    table = history.curves.select("player", pl.Series("time", time), reference="intrinsic_mean")
    return table.group_by("player", "time").agg(pl.col("reference").mean())


def _renamed(table: pl.DataFrame, aliases: Any) -> pl.DataFrame:
    who = read_table(aliases) if isinstance(aliases, str | Path) else as_frame(aliases)
    if not {"spelling", "name"} <= set(who.columns):
        raise InputError("expected the columns spelling and name in the table of aliases")
    if "mover_name" not in table.columns:
        raise InputError("these turns do not say the players' names as written: aliases need them")
    names = who.select(mover_name="spelling", known="name").unique("mover_name", keep="first")
    joined = table.join(names, on="mover_name", how="left", maintain_order="left")
    return joined.with_columns(mover=pl.coalesce("known", "mover_name")).drop("known")
