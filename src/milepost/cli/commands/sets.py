"""The commands that sort games out: players, select."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands.games_in import read_aliases


def players(
    inputs: options.Inputs,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Also write the players table."),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option("--duplicates", metavar="FILE", help="Also write the likely duplicates."),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=0, help="Rows to print of each list; 0 prints all.")
    ] = 30,
    aliases: options.Aliases = None,
    quiet: options.Quiet = False,
) -> None:
    """List the players: keys, spellings, counts, years, and likely duplicates."""
    import polars as pl

    from milepost.games.load import list_players
    from milepost.games.players.lookalikes import likely_duplicates
    from milepost.io.files import write_table

    with show.progress("reading", quiet=quiet) as tell:
        found = list_players(inputs, aliases=read_aliases(aliases), progress=tell)
    alike = likely_duplicates(found)
    if output:
        write_table(found, output)
    if duplicates:
        write_table(alike, duplicates)
    by_key = (
        found.group_by("key")
        .agg(
            pl.col("name").first(),
            pl.col("spelling").unique().sort().str.join(" | ").alias("spellings"),
            pl.col("fide_id")
            .drop_nulls()
            .unique()
            .sort()
            .cast(pl.String)
            .str.join(" ")
            .alias("FIDE id"),
            pl.col("games").sum(),
            pl.col("first_year").min().alias("from"),
            pl.col("last_year").max().alias("to"),
            pl.col("joined_by").unique().sort().str.join(", ").alias("joined by"),
        )
        .sort("games", "key", descending=[True, False])
    )
    show.print_frame(by_key, title=f"{len(by_key):,} players", most=most or None)
    if len(alike):
        title = f"{len(alike):,} likely duplicates (not joined; an alias file can join them)"
        show.print_frame(alike, title=title, most=most or None)


def select(
    inputs: options.Inputs,
    output: options.Output,
    elo: Annotated[
        int | None, typer.Option("--elo", help="Both players' Elo lies near this milepost.")
    ] = None,
    within: Annotated[int, typer.Option("--within", min=0, help="How near, in points.")] = 10,
    widen: Annotated[
        str | None,
        typer.Option("--widen", metavar="W,W", help="Wider bands for a set with too few turns."),
    ] = None,
    until_turns: Annotated[
        int | None, typer.Option("--until-turns", help="Turns behind the book that are enough.")
    ] = None,
    mileposts: Annotated[
        str | None,
        typer.Option("--mileposts", metavar="FIRST:LAST:STEP", help="A set for each milepost."),
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option("--periods", metavar="Y-Y,Y-Y", help="... in each of these periods."),
    ] = None,
    years: Annotated[
        str | None, typer.Option("--years", metavar="Y-Y", help="First and last year.")
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            "--exclude",
            metavar="WORD,...",
            help="Leave out: classical, rapid, blitz, bullet, correspondence, simul, blindfold, "
            "online. With --mileposts all but classical are left out unless this says otherwise; "
            "none leaves nothing out.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="WORD,...", help="Keep only these (words as in --exclude)."),
    ] = None,
    event_kinds: Annotated[
        str | None,
        typer.Option(
            "--event-kinds",
            metavar="KIND,...",
            help="Keep only these kinds: match, round-robin, small-swiss, large-swiss, knockout, "
            "team, unknown.",
        ),
    ] = None,
    minimum_plies: Annotated[
        int, typer.Option("--min-plies", min=0, help="Half-moves that a game must have.")
    ] = 0,
    cap: Annotated[
        int | None, typer.Option("--cap", min=1, help="At most so many games a set.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Name of the composite player of the set."),
    ] = None,
    form: options.Format = None,
    errors: options.Errors = None,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    strict: options.Strict = False,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Select games by rating band, years, speed, event kind and length; write a games table."""
    from milepost.errors import InputError
    from milepost.games.convert import Target
    from milepost.games.pgn.speeds import NOT_STANDARD
    from milepost.games.selection.criteria import Criteria, milepost_grid, parse_years
    from milepost.games.selection.write import write_selection

    if mileposts and (elo is not None or years or group):
        raise InputError("--mileposts makes sets of its own: leave --elo, --years, --group out")
    if periods and not mileposts:
        raise InputError("--periods goes with --mileposts; for one set use --years")
    left_out = NOT_STANDARD if exclude is None and mileposts else _words(exclude)
    criteria = Criteria(
        elo=elo if elo is not None else (0 if mileposts else None),
        within=within,
        widen=_widths(widen),
        until_turns=until_turns,
        years=parse_years(years) if years else None,
        exclude=frozenset(left_out) - {"none"},
        only=frozenset(_words(only)),
        event_kinds=frozenset(_words(event_kinds)),
        minimum_plies=minimum_plies,
        cap=cap,
        group=group,
    )
    sets = milepost_grid(mileposts, _words(periods), criteria) if mileposts else [criteria]
    target = Target(output, form, errors)
    with show.progress("reading", quiet=quiet) as tell:
        summary, selections = write_selection(
            inputs,
            target,
            sets,
            aliases=read_aliases(aliases),
            keep_duplicates=keep_duplicates,
            workers=workers,
            progress=tell,
        )
    if not quiet:
        rows = [
            (each.name or "all", found.available, len(found.games), found.turns, found.within)
            for each, found in zip(sets, selections, strict=True)
        ]
        if output != "-":
            show.print_table(("set", "fit", "games", "turns", "within"), rows)
        if len(selections) == 1 and selections[0].left_out:
            said = ", ".join(f"{name} {count:,}" for name, count in selections[0].left_out.items())
            typer.echo(f"left out by: {said}", err=True)
        show.summarise(summary, output, target.errors_path, rows="games")
    show.leave_if_strict(summary, strict=strict)


def _widths(text: str | None) -> tuple[int, ...]:
    from milepost.errors import InputError

    try:
        return tuple(int(width) for width in _words(text))
    except ValueError:
        raise InputError(f"--widen: expected numbers such as 15,20, got {text!r}") from None


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()
