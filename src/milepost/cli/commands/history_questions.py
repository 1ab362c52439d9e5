"""The questions to a saved history: rank, predict, compare."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    import polars as pl

    from milepost.history import History

Folder = Annotated[
    str, typer.Argument(metavar="HISTORY_DIR", help="A history saved by milepost history --save.")
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="OUT", help="Write a table; - is standard output."),
]
At = Annotated[
    str, typer.Option("--at", metavar="TIME", help="A year, a date (1972-07-11), or a number.")
]


def rank(
    folder: Folder,
    at: At,
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
    output: Output = None,
    form: options.Format = None,
) -> None:  # fmt: skip
    """Rank the players of a saved history at a time."""
    found = load_history(folder)
    table = found.at(at, within=within, games=games)
    if table.is_empty():
        _tell_of_nobody(found, at, within, games)
    told = {"at": at, "most": most, "games": games, "within": within}
    if not _written(
        table if most is None else table.head(most), output, form, "rank", told, folder
    ):
        typer.echo(f"{found.options.model} at {at}: skill, its standard deviation, games so far")
        show.print_frame(table, most=most or 20)


def predict(
    folder: Folder,
    a: Annotated[str, typer.Argument(metavar="A", help="A player: the name, or a part of it.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The other player.")],
    at: At,
    first_mover: Annotated[
        int | None,
        typer.Option("--first-mover", min=1, max=2, help="1 = A moves first, 2 = B; else nobody."),
    ] = None,
    output: Output = None,
    form: options.Format = None,
) -> None:
    """Predict a game between two players of a saved history at a time: win, draw, loss."""
    import polars as pl

    found = load_history(folder)
    one, two = find_player(found, a), find_player(found, b)
    chances = found.predict(one, two, at, first_mover=first_mover)
    skills = [found.skill(name, at) for name in (one, two)]
    sds = [None if math.isnan(skill.sd) else skill.sd for skill in skills]
    if first_mover is not None and not found.paths["first_mover"].cast(bool).any():
        typer.echo(
            "--first-mover makes no difference: the history was fitted without a first mover's "
            "advantage (milepost history --first-mover)",
            err=True,
        )
    table = pl.DataFrame({
        "player_1": [one], "player_2": [two], "time": [at],
        "first_mover": pl.Series([first_mover], dtype=pl.Int8),
        "win": [chances.win], "draw": [chances.draw], "loss": [chances.loss],
        "mean_1": [skills[0].mean], "sd_1": pl.Series([sds[0]], dtype=pl.Float64),
        "mean_2": [skills[1].mean], "sd_2": pl.Series([sds[1]], dtype=pl.Float64),
    })  # fmt: skip
    told = {"players": [one, two], "at": at, "first_mover": first_mover}
    if _written(table, output, form, "predict", told, folder):
        return
    first = {None: "", 1: f", {one} moves first", 2: f", {two} moves first"}[first_mover]
    rows = [
        (one, skills[0].mean, sds[0], _percent(chances.win)),
        (two, skills[1].mean, sds[1], _percent(chances.loss)),
        ("a draw", None, None, _percent(chances.draw)),
    ]
    typer.echo(f"at {at}{first}")
    show.print_table(("who wins", "mean", "sd", "chance"), rows)


def compare(
    folder: Folder,
    a: Annotated[str, typer.Argument(metavar="NAME@TIME", help='As in "fischer@1972".')],
    b: Annotated[str, typer.Argument(metavar="NAME@TIME", help='As in "kasparov@1991".')],
    output: Output = None,
    form: options.Format = None,
) -> None:
    """Compare two players of a saved history, each at a time: was the first the stronger?"""
    import polars as pl

    found = load_history(folder)
    (one, time_1), (two, time_2) = (_player_at(found, each) for each in (a, b))
    answer = found.compare(one, two, time_1, time_2)
    first, second, apart = answer.first, answer.second, answer.difference
    table = pl.DataFrame({
        "player_1": [one], "time_1": [time_1], "mean_1": [first.mean], "sd_1": [first.sd],
        "player_2": [two], "time_2": [time_2], "mean_2": [second.mean], "sd_2": [second.sd],
        "difference": [apart.mean], "difference_sd": [apart.sd],
        "probability": [answer.probability],
    })  # fmt: skip
    if _written(table, output, form, "compare", {"players": [a, b]}, folder):
        return
    rows = [
        (f"{one} @ {time_1}", first.mean, first.sd),
        (f"{two} @ {time_2}", second.mean, second.sd),
        ("difference", apart.mean, apart.sd),
    ]
    typer.echo(f"the first was the stronger: {_percent(answer.probability)}")
    show.print_table(("who", "mean", "sd"), rows)


def _tell_of_nobody(found: History, at: str, within: float, games: int) -> None:
    """An empty ranking is an answer, but perhaps not to what was meant."""
    first, last = found.curves["time"].sort().cast(str).gather([0, -1])
    least = f" and at least {games:,} games by then" if games else ""
    typer.echo(
        f"nobody has games within {within:g} years of {at}{least}; "
        f"the history goes from {first} to {last}",
        err=True,
    )


def load_history(folder: str) -> History:
    """Read a saved history."""
    from milepost.history import History

    return History.load(folder)


def _written(
    table: pl.DataFrame, output: str | None, form: str | None, command: str, told: dict[str, Any],
    folder: str,
) -> bool:  # fmt: skip
    """Write an answer for machines if asked to; `--format` alone writes to standard output."""
    from pathlib import Path

    from milepost.io.files import write_table
    from milepost.io.provenance import provenance, table_inputs
    from milepost.io.sources import find_sources

    if output is None and form is None:
        return False
    inputs = table_inputs(find_sources([Path(folder) / "curves.parquet"]))
    made = provenance(command, told, inputs)
    write_table(table, "-" if output is None else output, form=form, made=made)
    return True


def _player_at(found: History, text: str) -> tuple[str, str]:
    from milepost.errors import InputError

    name, mark, time = text.rpartition("@")
    if not mark or not name.strip() or not time.strip():
        raise InputError(f'expected a name and a time, as in "{text.strip("@ ")}@1972"')
    return find_player(found, name.strip()), time.strip()


def find_player(found: History, text: str) -> str:
    """The player that a name, or a part of one, means."""
    import polars as pl

    from milepost.errors import InputError
    from milepost.games.players.names import normalise_name, normalise_names

    players = found.curves.group_by("player").agg(pl.col("games").sum()).sort("player")
    players = players.with_columns(normalise_names(players["player"]).alias("plain"))
    plain = normalise_name(text) or text.lower()
    words = [word for word in plain.replace(",", " ").split() if word]
    has = pl.col("plain").str.contains
    tests = (
        pl.col("player") == text,
        pl.col("plain") == plain,
        has(plain, literal=True),
        pl.all_horizontal(has(word, literal=True) for word in words) if words else pl.lit(False),
    )
    for test in tests:
        near = players.filter(test).sort("games", "player", descending=[True, False])
        if len(near) == 1:
            _tell_of_others(near.row(0, named=True), players.filter(has(plain, literal=True)))
            return str(near["player"][0])
        if len(near):
            raise InputError(f"{text!r} may be {len(near):,} players: {_listed(near)}")
    return text  # the history says that there is none, and who is near


def _tell_of_others(meant: dict[str, Any], near: pl.DataFrame) -> None:
    """A whole name may be a part of a better-known one: a "fischer" beside Fischer, Robert."""
    others = near.filter(near["games"] > meant["games"])
    if len(others):
        others = others.sort("games", "player", descending=[True, False])
        typer.echo(
            f"{meant['player']} ({meant['games']:,} games) is taken; not meant: {_listed(others)}",
            err=True,
        )


def _listed(players: pl.DataFrame) -> str:
    rows = players.head(10).select("player", "games").iter_rows()
    more = f" and {len(players) - 10:,} more" if len(players) > 10 else ""
    return "; ".join(f"{name} ({games:,} games)" for name, games in rows) + more


def _percent(probability: float) -> str:
    if 0.0 < probability < 0.001:
        return "under 0.1 %"
    return "over 99.9 %" if 0.999 < probability < 1.0 else f"{100 * probability:.1f} %"
