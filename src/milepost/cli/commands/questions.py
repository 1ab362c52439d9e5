"""The questions to a saved history: rank, predict, compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    import polars as pl

    from milepost.api.histories import History

MANY_APART = 0.05
"""From this share of players without a link to the others on, every answer says so."""


def rank(
    folder: options.HistoryFolder,
    at: options.AtTime = "now",
    most: Annotated[
        int | None,
        typer.Option(
            "--top", min=1, help="How many players to show.", show_default="20; in OUT all"
        ),
    ] = None,
    games: Annotated[
        int | None,
        typer.Option(
            "--min-games",
            min=0,
            help="Only players with at least this many games by then; 0 = all.",
            show_default="30, and only players whose skill is fairly known; all if few are",
        ),
    ] = None,
    within: Annotated[
        float,
        typer.Option(
            "--within",
            min=0.0,
            metavar="YEARS",
            help="Only players who played within this many years before or after.",
        ),
    ] = 1.0,
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """List the best players at a given time.

    Names below the list may be one person under several spellings.
    """
    found = load(folder, scale)
    table = found.rank(at, within=within, games=games)
    if table.is_empty():
        _tell_of_nobody(found, at, within, games)
    told = {"at": at, "most": most, "games": games, "within": within, "scale": scale}
    if written(table if most is None else table.head(most), output, form, "rank", told, folder):
        return
    unit = found.unit
    shown = table.drop("player").rename({"name": "player", "mean": unit, "sd": "±"})
    when = f"{found.paths['time'][-1]} (now)" if at == "now" else at
    typer.echo(
        f"{found.model.name} at {when}: skill in {unit}, its standard deviation, games so far"
    )
    show.print_frame(shown.with_columns(_rounded(shown, unit)), most=most or 20)
    _tell_of_doubles(found, table.head(most or 20))
    tell_of_scale(found)
    if games is None:
        left = len(found.rank(at, within=within, games=0)) - len(table)
        if left:
            show.note(
                f"{left:,} more have fewer than 30 games by then or are hardly known "
                "(--min-games 0 lists them too)",
            )


_SPREAD = {"±": "±: one standard deviation."}
_NOT_LINKED = (
    "no chain of games links {} and {}: results do not say which of them is stronger. The answer "
    "rests on what the model takes newcomers for"
)


def predict(
    folder: options.HistoryFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A player: a name or part of it.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other player.")],
    at: options.AtTime = "now",
    first_mover: Annotated[
        int | None,
        typer.Option(
            "--moves-first",
            min=1,
            max=2,
            help="Who moves first: 1 for A, 2 for B. Without it, nobody has the advantage.",
        ),
    ] = None,
    quality: Annotated[
        bool,
        typer.Option("--quality", help="Also show the expected score and how even the game is."),
    ] = False,
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Predict a game: chances of a win, a draw and a loss.

    --quality adds TrueSkill's match quality, from 0 to 1: 1 for two equal players whose skill is
    known exactly, less if they are unequal or little is known.
    """
    import polars as pl

    from milepost.api.histories import percent

    found = load(folder, scale)
    with show.warnings_told():
        one, two = (found.find(typed, at=at) for typed in (a, b))
    chances = found.predict(one.key, two.key, at, first_mover=first_mover)
    even = found.quality(one.key, two.key, at, first_mover=first_mover)
    skills = [found.level(player.key, at) for player in (one, two)]
    for note in dict.fromkeys(found.far_from_games(player.key, at) for player in (one, two)):
        if note:
            typer.echo(f"caution: {note}", err=True)
    if found.moves is None and not found.linked(one.key, two.key):
        typer.echo(f"caution: {_NOT_LINKED.format(one.name, two.name)}", err=True)
    sds = [None if math.isnan(skill.sd) else skill.sd for skill in skills]
    if first_mover is not None and not found.paths["first_mover"].cast(bool).any():
        show.note(
            "--moves-first makes no difference: the history was fitted without a first mover's "
            "advantage (milepost history --set first_mover=learn)",
        )
    expected = chances.win + 0.5 * chances.draw
    table = pl.DataFrame({
        "player_1": [one.key], "player_2": [two.key], "time": [at],
        "first_mover": pl.Series([first_mover], dtype=pl.Int8),
        "win": [chances.win], "draw": [chances.draw], "loss": [chances.loss],
        "mean_1": [skills[0].mean], "sd_1": pl.Series([sds[0]], dtype=pl.Float64),
        "mean_2": [skills[1].mean], "sd_2": pl.Series([sds[1]], dtype=pl.Float64),
    })  # fmt: skip
    if quality:
        table = table.with_columns(expected_score=pl.lit(expected), quality=pl.lit(even))
    told = {"players": [one.key, two.key], "at": at, "first_mover": first_mover, "scale": scale}
    if written(table, output, form, "predict", told, folder):
        return
    first = {None: "", 1: f", {one.name} moves first", 2: f", {two.name} moves first"}[first_mover]
    rows = [
        (one.name, skills[0].mean, sds[0], percent(chances.win)),
        (two.name, skills[1].mean, sds[1], percent(chances.loss)),
        ("a draw", None, None, percent(chances.draw)),
    ]
    typer.echo(f"at {at}{first}")
    show.print_table(("who wins", found.unit, "±", "chance"), rows, meanings=_SPREAD)
    if quality:
        typer.echo(f"Expected score of {one.name}: {expected:.2f}")
        typer.echo(f"How even the game is, from 0 to 1: {even:.2f}")
    if found.unit == "Elo":
        show.note(
            "The chances allow for what is not known of both skills (±): they are nearer to even "
            "than Elo's formula makes them from the difference alone."
        )
    tell_of_scale(found)


def compare(
    folder: options.HistoryFolder,
    a: Annotated[
        str, typer.Argument(metavar="NAME@TIME", help="A player and a time, such as fischer@1972.")
    ],
    b: Annotated[str, typer.Argument(metavar="NAME@TIME", help="Another, such as kasparov@1991.")],
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Compare two players, each at a time: who was stronger?

    The chance allows for what a history cannot know about distant times. If several players share a
    name, the one with most games around that time is taken.
    """
    import polars as pl

    found = load(folder, scale)
    left_open = "with the scale's uncertainty"
    with show.warnings_told():
        answer = found.compare(a, b)
        alone = None
        if answer.joint:
            alone = found.compare(a, b, scale="results")
            left_open = "with the eras' uncertainty"
    (one, two), (time_1, time_2) = answer.players, answer.times
    first, second, apart = answer.first, answer.second, answer.difference
    table = pl.DataFrame({
        "player_1": [answer.keys[0]], "time_1": [time_1], "mean_1": [first.mean],
        "sd_1": [first.sd], "player_2": [answer.keys[1]], "time_2": [time_2],
        "mean_2": [second.mean], "sd_2": [second.sd], "difference": [apart.mean],
        "difference_sd": [apart.sd], "scale_sd": [answer.scale_sd],
        "probability": [answer.probability],
        "scale": ["joint" if answer.joint else found.scale.name],
    })  # fmt: skip
    if answer.caution:
        show.say(f"caution: {answer.caution}", err=True)
    if alone is None and not found.linked(*answer.keys):
        show.say(f"caution: {_NOT_LINKED.format(one, two)}", err=True)
    if written(table, output, form, "compare", {"players": [a, b], "scale": scale}, folder):
        return
    rows = [
        (f"{one} @ {time_1}", first.mean, first.sd),
        (f"{two} @ {time_2}", second.mean, second.sd),
        ("difference", apart.mean, apart.sd),
        (left_open, apart.mean, answer.sd),
    ]
    typer.echo(answer.sentence)
    if alone is not None:
        typer.echo(f"By results alone, with what their settings leave open: {alone.chance}")
    show.print_table(("who", found.unit, "±"), rows, meanings=_SPREAD)
    tell_of_scale(found)


def load(folder: str, scale: str | None) -> History:
    """Read a saved history, on the scale asked for; warn of what makes its answers doubtful."""
    from milepost.api.histories import load_history
    from milepost.report.history.text import evidence_caution, groups_caution

    found = load_history(folder)
    for caution in (evidence_caution(found), groups_caution(found, MANY_APART)):
        if caution:
            show.say(f"caution: {caution}", err=True)
    return found if scale is None else found.on(scale)


def tell_of_scale(found: History) -> None:
    """Say how to read the numbers."""
    lines = found.scale.lines
    if found.moves is not None:
        lines = ("Results and moves on one scale; --scale results shows results alone.",)
    elif not lines and found.curves["elo"].drop_nulls().len():
        lines = ("These are points of this history, not Elo; --scale elo converts them.",)
    for line in lines:
        show.note(line)


def written(
    table: pl.DataFrame, output: str | None, form: str | None, command: str, told: dict[str, Any],
    folder: str,
) -> bool:  # fmt: skip
    """Write an answer for machines if asked to; `--format` alone writes to standard output."""
    from pathlib import Path

    from milepost.io.files import write_table
    from milepost.io.provenance import provenance
    from milepost.io.sources import find_sources

    if output is None and form is None:
        return False
    inputs = find_sources(Path(folder) / "curves.parquet").about()
    made = provenance(command, told, inputs)
    write_table(table, "-" if output is None else output, form=form, made=made)
    if output not in (None, "-"):
        show.note(f"{len(table):,} {'row' if len(table) == 1 else 'rows'} -> {output}")
    return True


def _rounded(table: pl.DataFrame, unit: str) -> list[pl.Expr]:
    import polars as pl

    return [pl.col(name).round(0).cast(pl.Int64) for name in (unit, "±") if name in table.columns]


def _tell_of_doubles(found: History, shown: pl.DataFrame) -> None:
    for group in found.doubles(shown):
        names = "; ".join(found.name_of(key) for key in group)
        show.note(f"Perhaps one person: {names} (milepost history --aliases joins spellings)")


def _tell_of_nobody(found: History, at: str, within: float, games: int | None) -> None:
    """An empty ranking is an answer, but perhaps not to what was meant."""
    first, last = found.curves["time"].sort().cast(str).gather([0, -1])
    least = f" and at least {games:,} games by then" if games else ""
    show.note(
        f"nobody has games within {within:g} years of {at}{least}; "
        f"the history goes from {first} to {last}",
    )
