"""Results for histories: read as `milepost results` reads them, chosen by speed and year."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import show

if TYPE_CHECKING:
    import polars as pl

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="RESULTS...",
        help="Results tables, games tables, PGN files, or any table with --map.",
    ),
]
Mapping = Annotated[
    str | None,
    typer.Option(
        "--map",
        metavar="FIELD=COLUMN,...",
        help="For tables: which columns hold time, player_1, player_2, score ...: see milepost "
        "results.",
    ),
]
KeepNames = Annotated[
    bool, typer.Option("--keep-names", help="For tables: leave the players' names as they are.")
]
SkipFast = Annotated[
    bool,
    typer.Option(
        "--skip-fast/--with-fast",
        help="Leave out games flagged in a column fast, or of the speed rapid, blitz or bullet.",
    ),
]
From = Annotated[int | None, typer.Option("--from", metavar="YEAR", help="Games since this year.")]
To = Annotated[int | None, typer.Option("--to", metavar="YEAR", help="Games up to this year.")]


@dataclass(frozen=True)
class Chosen:
    """The results to be used, and what was decided about the others."""

    table: pl.DataFrame
    """The results table."""
    said: list[str]
    """Lines that tell what counts and what does not."""
    made: dict[str, Any] = field(default_factory=dict)
    """The same for the provenance."""


def choose_results(
    inputs: list[str],
    *,
    mapping: str | None,
    keep_names: bool,
    aliases: str | None,
    keep_duplicates: bool,
    skip_fast: bool,
    first: int | None,
    last: int | None,
    quiet: bool,
) -> Chosen:
    """Read results from PGN or tables; leave out fast games and other years if asked."""
    from milepost.errors import InputError

    results = _read(inputs, mapping, keep_names, aliases, keep_duplicates, quiet=quiet)
    made: dict[str, Any] = {
        "map": mapping, "keep_names": keep_names, "aliases": aliases,
        "keep_duplicates": keep_duplicates, "fast": "left out" if skip_fast else "counted",
        "from": first, "to": last,
    }  # fmt: skip
    said: list[str] = []
    if first is not None or last is not None:
        before = len(results)
        results = _of_years(results, first, last)
        told = f"{'' if first is None else first}-{'' if last is None else last}"
        said.append(f"years {told}: {len(results):,} of {before:,} results")
    fast = results["fast"].fill_null(False)
    made["fast_games"] = int(fast.sum())
    said.append(_about_fast(results["fast"].null_count(), made["fast_games"], skipped=skip_fast))
    if skip_fast:
        results = results.filter(~fast)
    if results.is_empty():
        raise InputError("no results are left: " + "; ".join(said))
    return Chosen(results, said, made)


def _about_fast(unknown: int, fast: int, *, skipped: bool) -> str:
    line = f"{fast:,} fast games (flagged fast, or rapid, blitz, bullet) "
    line += "are left out" if skipped else "count like the others"
    return line + (f"; of {unknown:,} games the speed is not known" if unknown else "")


def _read(
    inputs: list[str],
    mapping: str | None,
    keep_names: bool,
    aliases: str | None,
    keep_duplicates: bool,
    *,
    quiet: bool,
) -> pl.DataFrame:
    from milepost.games import parse_mapping, read_results

    with show.progress("reading", quiet=quiet) as tell:
        results, errors = read_results(
            inputs,
            mapping=parse_mapping(mapping) if mapping else None,
            keep_names=keep_names,
            aliases=aliases,
            keep_duplicates=keep_duplicates,
            progress=tell,
        )
    lost = errors.filter(errors["kind"].is_in(["broken", "unreadable"])).height
    if lost:
        typer.echo(
            f"warning: {lost:,} games or rows could not be read (see milepost results)", err=True
        )
    return results


def _of_years(results: pl.DataFrame, first: int | None, last: int | None) -> pl.DataFrame:
    import polars as pl

    time = pl.col("time")
    year = time.dt.year() if results["time"].dtype.is_temporal() else time.floor()
    test = pl.lit(True)
    if first is not None:
        test = test & (year >= first)
    if last is not None:
        test = test & (year <= last)
    return results.filter(test)


def provenance_of(command: str, chosen: Chosen, told: dict[str, Any], inputs: list[str]) -> Any:
    """What an output of a command on results says about how it was made."""
    from milepost.io.provenance import provenance
    from milepost.io.sources import find_sources

    return provenance(command, {**told, **chosen.made}, find_sources(inputs).about())
