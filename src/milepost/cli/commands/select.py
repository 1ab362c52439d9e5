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
    "--group": "--set group=NAME",
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
    group: str | None = None
    """Name of the composite player of the set."""


def select(
    inputs: options.Inputs,
    output: options.Output,
    elo: Annotated[
        int | None, typer.Option("--elo", help="Both players' Elo is near this number.")
    ] = None,
    within: Annotated[int, typer.Option("--elo-within", min=0, help="How near, in points.")] = 10,
    mileposts: Annotated[
        str | None,
        typer.Option(
            "--mileposts",
            metavar="FIRST:LAST:STEP",
            help="One set for each rating, such as 2000:2700:100.",
        ),
    ] = None,
    periods: Annotated[
        str | None,
        typer.Option(
            "--periods",
            metavar="Y-Y,Y-Y",
            help="With --mileposts: one set for each of these periods.",
        ),
    ] = None,
    first: options.FromYear = None,
    last: options.ToYear = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            "--exclude",
            metavar="WORD,...",
            help="Leave out classical, rapid, blitz, bullet, correspondence, simul, blindfold or "
            "online games. --mileposts leaves out all but classical unless you say "
            "otherwise; none = keep all.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="WORD,...", help="Keep only these (same words as --exclude)."
        ),
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
        int | None, typer.Option("--max-games", min=1, help="At most this many games per set.")
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
    """Pick games by rating, years, speed, kind of event and length.

    Keys of --set: group=NAME (name of the set's composite player), minimum_plies=N (half-moves a
    game must have), book_moves=N (opening moves per side that do not count as turns); for a set
    with too few turns until_turns=N (how many are enough) and widen=W,W (wider bands to try).
    """
    from milepost.api.games import (
        NOT_STANDARD,
        Criteria,
        Target,
        milepost_grid,
        write_selection,
    )
    from milepost.errors import InputError

    rare = read_settings(Rarely, settings)
    if mileposts and (elo is not None or rare.group):
        raise InputError("--mileposts makes sets of its own: leave out --elo and --set group")
    if periods and (first is not None or last is not None):
        raise InputError("--periods says which years: leave out --from and --to")
    if periods and not mileposts:
        raise InputError("--periods goes with --mileposts; for one set use --from and --to")
    left_out = NOT_STANDARD if exclude is None and mileposts else _words(exclude)
    criteria = Criteria(
        elo=elo if elo is not None else (0 if mileposts else None),
        within=within,
        years=_years(first, last),
        exclude=frozenset(left_out) - {"none"},
        only=frozenset(_words(only)),
        event_kinds=frozenset(_words(event_kinds)),
        cap=cap,
        **vars(rare),
    )
    sets = [criteria]
    if mileposts:
        sets = milepost_grid(mileposts, _words(periods), criteria)
    target = Target(output, form, errors)
    show.refuse_nothing(None, inputs)
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
    show.refuse_unread(summary, inputs, target.errors_path)
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
    show.say(f"{selection.read:,} games read, {len(selection.games):,} chosen", err=True)
    for reason, count in selection.left_out.items():
        show.say(f"  {count:>9,} left out: {reason}", err=True)
    if selection.advice:
        show.say(f"warning: {selection.advice}", err=True)


def _years(first: int | None, last: int | None) -> tuple[int, int] | None:
    """The years of a set; an open end is as far away as years go."""
    from milepost.api.games import FIRST_YEAR, LAST_YEAR
    from milepost.errors import InputError

    if first is None and last is None:
        return None
    years = (FIRST_YEAR if first is None else first, LAST_YEAR if last is None else last)
    if years[0] > years[1]:
        raise InputError(f"--from {first} is after --to {last}")
    return years


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()
