"""The commands that read ratings off moves: rate, likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands import decisions as decisions_in

if TYPE_CHECKING:
    import polars as pl

    from milepost.intrinsic.calibration.calibration import Calibration

Named = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="NAME|FILE",
        help="A calibration: a file, or one that comes with the package [default: the one for the "
        "set-up of the evaluations].",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Use the calibration for another engine set-up as well.")
]
Level = Annotated[
    float, typer.Option("--level", min=0.01, max=0.999, help="Probability of the intervals.")
]
_BESIDE = ("opponent", "opponent_elo", "move_number", "phase", "colour", "speed")


def rate(
    inputs: options.Inputs,
    store: decisions_in.Store = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="GROUPING",
            help="player, game, event, year, phase, colour, opponent, opponent-band, time-control, "
            "result, clock, move-range, milepost; repeatable, all combine; none = everything in "
            "one.  [default: player]",
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option("--player", metavar="NAME", help="Only turns of these players; repeatable."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the ratings to this table."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write an HTML page with plots."),
    ] = None,
    calibration: Named = None,
    force: Force = False,
    level: Level = 0.95,
    least: Annotated[
        int, typer.Option("--least", min=2, help="Groups with fewer turns get no rating.")
    ] = 10,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Rows to show, those with most turns.")
    ] = 40,
    setup: decisions_in.Setup = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Rate players, games, phases … by their moves, with intervals and what Elo projects."""
    from milepost.intrinsic.rating.groupings import columns_needed
    from milepost.intrinsic.rating.rate import rate as rate_groups
    from milepost.io.files import format_of, write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    chosen = [name for name in (by if by is not None else ["player"]) if name != "none"]
    chosen = list(dict.fromkeys(chosen))
    needed = [*dict.fromkeys([*columns_needed(chosen), *_BESIDE])]
    if output is not None:
        format_of(output, form)
    table, made = decisions_in.read_decisions(
        inputs, store, setup, needed, workers=workers, quiet=quiet
    )
    table = _of_players(table, player)
    digest = str(made.get("digest", setup or ""))
    found = _calibration(calibration, digest, quiet=quiet)
    with show.progress("rating", quiet=quiet, unit="turns") as tell:
        ratings = rate_groups(
            table,
            found,
            chosen,
            setup=digest,
            force=force,
            level=level,
            least=least,
            progress=tell,
        )
    told = {"by": chosen, "calibration": found.name, "level": level, "least": least, "force": force}
    told |= {"player": player or []}
    inputs_made = provenance("rate", {**told, **made}, table_inputs(find_sources(inputs)))
    if output is not None:
        write_table(ratings, output, form=form, made=inputs_made)
    if report is not None:
        from milepost.report.ratings_page import write_ratings_page

        if not quiet:
            typer.echo("drawing the page", err=True)
        write_ratings_page(ratings, table, found, chosen, report, made=inputs_made)
    if output != "-":
        _show_ratings(ratings, chosen, found, level, most)
    for path in (output, report):
        if not quiet and path not in {None, "-"}:
            typer.echo(f"{len(ratings):,} ratings -> {path}", err=True)


def likelihood(
    inputs: options.Inputs,
    store: decisions_in.Store = None,
    player: Annotated[
        list[str] | None,
        typer.Option("--player", metavar="NAME", help="Whose moves, if there are several players."),
    ] = None,
    elo: Annotated[
        str,
        typer.Option("--elo", metavar="ELO,...", help="Ratings to ask about."),
    ] = "1600,2000,2400,2800",
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="MEAN,SD",
            help="What is known of the rating beforehand [default: even from 600 to 3400].",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="OUT", help="Write the posterior after each game."),
    ] = None,
    turns: Annotated[
        str | None,
        typer.Option("--turns", metavar="OUT", help="Write each move's probability."),
    ] = None,
    calibration: Named = None,
    force: Force = False,
    level: Level = 0.95,
    setup: decisions_in.Setup = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Say how probable a sequence of moves is for given Elos, and what is known after each game."""
    import polars as pl

    from milepost.choice import Spreads
    from milepost.errors import InputError
    from milepost.intrinsic.rating.posterior import Prior, follow
    from milepost.io.files import write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    asked = parse_numbers(elo, "--elo")
    belief = None
    if prior is not None:
        given = parse_numbers(prior, "--prior")
        if len(given) != 2:
            raise InputError(f"--prior: expected MEAN,SD, got {prior!r}")
        belief = Prior(given[0], given[1])
    table, made = decisions_in.read_decisions(
        inputs, store, setup, ["opponent", "played", "year"], workers=workers, quiet=quiet
    )
    table = _of_players(table, player)
    digest = str(made.get("digest", setup or ""))
    found = _calibration(calibration, digest, quiet=quiet)
    warning = found.refuse_other(digest, force=force)
    if table["mover"].n_unique() > 1:
        count = table["mover"].n_unique()
        raise InputError(f"these are moves of {count} players: name one of them (--player)")
    low, high = found.range
    if not quiet and not all(low <= each <= high for each in asked):
        typer.echo(f"--elo: the calibration was fitted on {low:.0f} to {high:.0f}", err=True)
    told = follow(Spreads.from_table(table), found, asked, prior=belief, level=level)
    names = table.select("game_id", "mover", "opponent").with_columns(told.turns["group"])
    games = names.group_by("group", maintain_order=True).first()
    after = told.games.join(games, on="group", how="left").drop("group")
    after = after.select("game_id", "mover", "opponent", *told.games.columns[1:])
    options_told = {"elo": asked, "prior": prior or "", "player": player or [], **made}
    provenance_of = provenance("likelihood", options_told, table_inputs(find_sources(inputs)))
    if output is not None:
        write_table(after, output, form=form, made=provenance_of)
    if turns is not None:
        columns = [c for c in ("game_id", "ply", "mover", "played") if c in table.columns]
        each = pl.concat([table.select(columns), told.turns.drop("group")], how="horizontal")
        write_table(each, turns, made=provenance_of)
    decisions_in.show_numbers(told.totals, "Probability of all these moves")
    decisions_in.show_numbers(after.drop("game_id"), f"Elo after each game, {level:.0%} intervals")
    if warning is not None:
        typer.echo(warning, err=True)


def _calibration(name: str | None, digest: str, *, quiet: bool) -> Calibration:
    from milepost.intrinsic.calibration.calibration import calibration_for, load_calibration

    found = load_calibration(name if name is not None else calibration_for(digest))
    if not quiet:
        typer.echo(f"calibration {found.name}", err=True)
        for note in found.notes:
            typer.echo(f"  {note}", err=True)
    return found


def _of_players(table: pl.DataFrame, names: list[str] | None) -> pl.DataFrame:
    """Turns of the players named: by key, or by a part of it that only one has."""
    import polars as pl

    from milepost.errors import InputError
    from milepost.games.players.names import normalise_name

    if not names:
        return table
    keys = table["mover"].unique().drop_nulls().to_list()
    wanted = []
    for name in names:
        key = normalise_name(name) or name
        near = [each for each in keys if key == each] or [each for each in keys if key in each]
        if len(near) != 1:
            some = ", ".join(sorted(near)[:10]) or "nobody"
            raise InputError(f"--player {name}: {some} in these games; name one")
        wanted += near
    return table.filter(pl.col("mover").is_in(wanted))


def parse_numbers(text: str, option: str) -> list[float]:
    """Read numbers with commas; the option is named if they are none."""
    from math import isfinite

    from milepost.errors import InputError

    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(isfinite(each) for each in found):
        raise InputError(f"{option}: expected numbers with commas, got {text!r}")
    return found


def _show_ratings(
    ratings: pl.DataFrame, by: list[str], found: Calibration, level: float, most: int
) -> None:
    """One line a group: rating, interval, turns; match and error beside what Elo projects."""
    shown = ratings if len(ratings) <= most else ratings.sort("n", descending=True).head(most)
    columns = [*by, "IPR", f"{level:.0%}", "turns", "games", "Elo", "match %", "z", "error", "z",
               "c 2009", "notes"]  # fmt: skip
    notes = {
        text: place
        for place, text in enumerate(
            dict.fromkeys(
                each for said in shown["warnings"] for each in (said or "").split("; ") if each
            ),
            start=1,
        )
    }
    rows = [
        [
            *(row[name] for name in by),
            _points(row["rating"]),
            f"{_points(row['low'])}-{_points(row['high'])}",
            row["n"],
            row["games"],
            _points(row["elo"]),
            _beside(row["mm_actual"], row["mm_projected"], 100, 1),
            _plain(row["z_mm_adjusted"]),
            _beside(row["ad_actual"], row["ad_projected"], 1, 3),
            _plain(row["z_ad_adjusted"]),
            _plain(row.get("competence")),
            ",".join(str(notes[each]) for each in (row["warnings"] or "").split("; ") if each),
        ]
        for row in shown.iter_rows(named=True)
    ]
    title = (
        f"Intrinsic ratings ({found.name}, {found.map.kind}); match and error: actual/projected at "
        "own Elo; z adjusted for the spread of players"
    )
    # A number broken over two lines would be misread.
    whole = [name for name in columns if name not in by]
    show.print_table(columns, rows, title=title, whole=whole)
    for text, place in notes.items():
        typer.echo(f"  {place}: {text}")
    if len(shown) < len(ratings):
        typer.echo(f"{len(ratings) - len(shown):,} more groups: write them with -o", err=True)
    typer.echo(
        "A figure is evidence, never a verdict on a person: see docs/intrinsic.md.", err=True
    )


def _points(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _beside(actual: float, projected: float | None, scale: float, digits: int) -> str:
    shown = f"{scale * actual:.{digits}f}"
    return shown if projected is None else f"{shown}/{scale * projected:.{digits}f}"
