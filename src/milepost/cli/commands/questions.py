"""The questions to a saved history: rank, predict, compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    import polars as pl

    from milepost.api.histories import History


def rank(
    folder: options.HistoryFolder,
    at: options.AtTime,
    most: Annotated[
        int | None,
        typer.Option("--most", min=1, help="So many players.", show_default="20; in OUT all"),
    ] = None,
    games: Annotated[
        int, typer.Option("--games", min=0, help="Only players with so many games by then.")
    ] = 0,
    within: Annotated[
        float,
        typer.Option(
            "--within", min=0.0, metavar="YEARS",
            help="Only players with games at most so long before or after.",
        ),
    ] = 1.0,
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:  # fmt: skip
    """Rank the players of a saved history at a time."""
    from milepost.api.histories import load_history

    found = load_history(folder)
    table = found.rank(at, within=within, games=games, scale=scale)
    if table.is_empty():
        _tell_of_nobody(found, at, within, games)
    told = {"at": at, "most": most, "games": games, "within": within, "scale": scale}
    if not write_answer(
        table if most is None else table.head(most), output, form, "rank", told, folder
    ):
        joint = found.moves is not None and scale != "results"
        unit = "intrinsic Elo (results and moves)" if joint else "skill"
        typer.echo(f"{found.model.name} at {at}: {unit}, its standard deviation, games so far")
        shown = table.drop("player").rename({"name": "player"})
        show.print_frame(shown, most=most or 20)


def predict(
    folder: options.HistoryFolder,
    a: Annotated[str, typer.Argument(metavar="A", help="A player: the name, or a part of it.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other player.")],
    at: options.AtTime,
    first_mover: Annotated[
        int | None,
        typer.Option("--first-mover", min=1, max=2, help="1 = A moves first, 2 = B; else nobody."),
    ] = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Predict a game between two players of a saved history at a time: win, draw, loss."""
    import polars as pl

    from milepost.api.histories import load_history, percent

    found = load_history(folder)
    with show.warnings_told():
        one, two = (found.find(typed) for typed in (a, b))
    chances = found.predict(one.key, two.key, at, first_mover=first_mover)
    skills = [found.skill(player.key, at) for player in (one, two)]
    sds = [None if math.isnan(skill.sd) else skill.sd for skill in skills]
    if first_mover is not None and not found.paths["first_mover"].cast(bool).any():
        typer.echo(
            "--first-mover makes no difference: the history was fitted without a first mover's "
            "advantage (milepost history --set first_mover=learn)",
            err=True,
        )
    table = pl.DataFrame({
        "player_1": [one.key], "player_2": [two.key], "time": [at],
        "first_mover": pl.Series([first_mover], dtype=pl.Int8),
        "win": [chances.win], "draw": [chances.draw], "loss": [chances.loss],
        "mean_1": [skills[0].mean], "sd_1": pl.Series([sds[0]], dtype=pl.Float64),
        "mean_2": [skills[1].mean], "sd_2": pl.Series([sds[1]], dtype=pl.Float64),
    })  # fmt: skip
    told = {"players": [one.key, two.key], "at": at, "first_mover": first_mover}
    if write_answer(table, output, form, "predict", told, folder):
        return
    first = {None: "", 1: f", {one.name} moves first", 2: f", {two.name} moves first"}[first_mover]
    rows = [
        (one.name, skills[0].mean, sds[0], percent(chances.win)),
        (two.name, skills[1].mean, sds[1], percent(chances.loss)),
        ("a draw", None, None, percent(chances.draw)),
    ]
    typer.echo(f"at {at}{first}")
    show.print_table(("who wins", "mean", "sd", "chance"), rows)


def compare(
    folder: options.HistoryFolder,
    a: Annotated[str, typer.Argument(metavar="NAME@TIME", help='As in "fischer@1972".')],
    b: Annotated[str, typer.Argument(metavar="NAME@TIME", help='As in "kasparov@1991".')],
    scale: options.Scale = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Compare two players of a saved history, each at a time: was the first the stronger?

    The chance allows for what the settings of a history leave open between distant times.
    """
    import polars as pl

    from milepost.api.histories import load_history

    found = load_history(folder)
    with show.warnings_told():
        answer = found.compare(a, b, scale=scale)
        alone = None
        if answer.scale == "joint":
            alone = found.compare(a, b, scale="results")
    (one, two), (time_1, time_2) = answer.players, answer.times
    first, second, apart = answer.first, answer.second, answer.difference
    table = pl.DataFrame({
        "player_1": [answer.keys[0]], "time_1": [time_1], "mean_1": [first.mean],
        "sd_1": [first.sd], "player_2": [answer.keys[1]], "time_2": [time_2],
        "mean_2": [second.mean], "sd_2": [second.sd], "difference": [apart.mean],
        "difference_sd": [apart.sd], "scale_sd": [answer.scale_sd],
        "probability": [answer.probability], "scale": [answer.scale],
    })  # fmt: skip
    if answer.caution:
        typer.echo(f"caution: {answer.caution}", err=True)
    if write_answer(table, output, form, "compare", {"players": [a, b]}, folder):
        return
    rows = [
        (f"{one} @ {time_1}", first.mean, first.sd),
        (f"{two} @ {time_2}", second.mean, second.sd),
        ("difference", apart.mean, apart.sd),
        (_SCALE_SAID[answer.scale], apart.mean, answer.sd),
    ]
    on = "on the joint scale, " if alone is not None else ""
    typer.echo(f"Chance that the first was the stronger: {on}{answer.chance}")
    if alone is not None:
        typer.echo(f"  by results alone (with what their settings leave open): {alone.chance}")
    show.print_table(("who", "mean", "sd"), rows)


_SCALE_SAID = {
    "results": "with the scale's uncertainty",
    "joint": "with the eras' uncertainty",
}


def _tell_of_nobody(found: History, at: str, within: float, games: int) -> None:
    """An empty ranking is an answer, but perhaps not to what was meant."""
    first, last = found.curves["time"].sort().cast(str).gather([0, -1])
    least = f" and at least {games:,} games by then" if games else ""
    typer.echo(
        f"nobody has games within {within:g} years of {at}{least}; "
        f"the history goes from {first} to {last}",
        err=True,
    )


def write_answer(
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
    return True
