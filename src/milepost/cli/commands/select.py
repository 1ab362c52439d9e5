"""The command select: sets of games by rating band, years, speed, event kind and length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show
from milepost.cli.settings import Set, read_settings

if TYPE_CHECKING:
    from milepost.api.games import Selection


MOVED = {
    "--widen": "--set widen=W,W",
    "--until-turns": "--set until_turns=N",
    "--min-plies": "--set minimum_plies=N",
}
"""Former options, and where they are now."""


@dataclass(frozen=True)
class Rarely:
    """Criteria that are seldom asked for; see `milepost.games.selection.criteria.Criteria`."""

    minimum_plies: int = 0
    """Half-moves that a game must have."""
    book_moves: int = 8
    """Moves a side that do not count as turns."""
    until_turns: int | None = None
    """How many turns behind the book are enough."""
    widen: tuple[int, ...] = ()
    """Wider bands to try while the set has too few turns."""


def select(
    inputs: options.Inputs,
    output: options.Output,
    elo: Annotated[
        int | None, typer.Option("--elo", help="Both players' Elo lies near this milepost.")
    ] = None,
    within: Annotated[int, typer.Option("--within", min=0, help="How near, in points.")] = 10,
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
    cap: Annotated[
        int | None, typer.Option("--cap", min=1, help="At most so many games a set.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option("--group", help="Name of the composite player of the set."),
    ] = None,
    settings: Set = None,
    form: options.Format = None,
    errors: options.Errors = None,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    strict: options.Strict = False,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Select games by rating band, years, speed, event kind and length; write a games table.

    Keys of --set: minimum_plies=N (half-moves that a game must have), book_moves=N (moves a side
    that do not count as turns); for a band with too few turns until_turns=N (how many are enough)
    and widen=W,W (wider bands to try).
    """
    from milepost.api.games import (
        NOT_STANDARD,
        Criteria,
        Target,
        milepost_grid,
        parse_years,
        write_selection,
    )
    from milepost.errors import InputError

    if mileposts and (elo is not None or years or group):
        raise InputError("--mileposts makes sets of its own: leave --elo, --years, --group out")
    if periods and not mileposts:
        raise InputError("--periods goes with --mileposts; for one set use --years")
    left_out = NOT_STANDARD if exclude is None and mileposts else _words(exclude)
    criteria = Criteria(
        elo=elo if elo is not None else (0 if mileposts else None),
        within=within,
        years=parse_years(years) if years else None,
        exclude=frozenset(left_out) - {"none"},
        only=frozenset(_words(only)),
        event_kinds=frozenset(_words(event_kinds)),
        cap=cap,
        group=group,
        **vars(read_settings(Rarely, settings)),
    )
    sets = milepost_grid(mileposts, _words(periods), criteria) if mileposts else [criteria]
    target = Target(output, form, errors)
    with show.progress("reading", quiet=quiet) as tell:
        summary, selections = write_selection(
            inputs,
            target,
            sets,
            aliases=aliases,
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
        if len(selections) == 1:
            _tell_left_out(selections[0])
        show.summarise(summary, output, target.errors_path, rows="games")
    show.leave_if_strict(summary, strict=strict)


def _tell_left_out(selection: Selection) -> None:
    """Say what has become of all games; the numbers add up."""
    typer.echo(f"{selection.read:,} games read, {len(selection.games):,} chosen", err=True)
    for reason, count in selection.left_out.items():
        typer.echo(f"  {count:>9,} left out: {reason}", err=True)
    if selection.advice:
        typer.echo(f"warning: {selection.advice}", err=True)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()
