"""The chance of a title norm, or of a score, in a field: norm."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import options, show
from milepost.cli.commands.questions import load, written


def norm(
    folder: options.HistoryFolder,
    player: Annotated[str, typer.Argument(metavar="PLAYER", help="The player.")],
    opponents: Annotated[
        list[str],
        typer.Argument(
            metavar="OPPONENT...",
            help="Opponents, one for each game; NAME=2650 also gives a rating.",
        ),
    ],
    at: options.AtTime = "now",
    title: Annotated[
        str,
        options.choice(
            "--title",
            ("GM", "IM", "WGM", "WIM"),
            help="Which norm: GM, IM, WGM or WIM.",
            listed=False,
        ),
    ] = "GM",
    score: Annotated[
        float | None,
        typer.Option("--score", min=0.0, help="Ask for this score instead of a norm."),
    ] = None,
    performance: Annotated[
        float | None,
        typer.Option(
            "--performance",
            metavar="ELO",
            help="Ask for this performance rating instead of a norm.",
        ),
    ] = None,
    colours: Annotated[
        str | None,
        typer.Option(
            "--colours", metavar="WB...", help="PLAYER's colours, game by game, such as wbwbw."
        ),
    ] = None,
    output: options.AnswerTable = None,
    form: options.Format = None,
) -> None:
    """Show the expected score in a field and the chance of a norm.

    A norm needs a performance rating (the opponents' average plus FIDE's table for the score) of
    2600 for GM, 2450 for IM, 2400 for WGM or 2250 for WIM, against an average of 2380, 2230, 2180
    or 2030, in nine games or more (FIDE Title Regulations). Titles and federations of opponents are
    not checked. Ratings you do not give are taken from the games nearest in time.
    """
    import polars as pl

    from milepost.api.histories import NormRule, percent
    from milepost.errors import InputError

    found = load(folder, "points")
    given: dict[str, float] = {}
    keys: list[str] = []
    with show.warnings_told():
        own = found.find(player, at=at)
        for typed in opponents:
            name, rating = _split_rating(typed)
            keys.append(found.find(name, at=at).key)
            if rating is not None:
                given[keys[-1]] = rating
    movers = None
    if colours is not None:
        if set(colours.lower()) - {"w", "b"}:
            raise InputError(f"--colours: expected letters w and b, got {colours!r}")
        movers = [1 if letter == "w" else 2 for letter in colours.lower()]
    rule = None if performance is None else NormRule(performance, games=1)
    answer = found.norm(
        own.key, keys, at, title=title.upper(), rule=rule, score=score, ratings=given,
        movers=movers,
    )  # fmt: skip
    forecast = answer.forecast
    points = [0.5 * half for half in range(len(forecast.chances))]
    table = pl.DataFrame({
        "score": points, "chance": forecast.chances,
        "at_least": [forecast.at_least(point) for point in points],
    })  # fmt: skip
    told = {
        "player": own.key, "opponents": keys, "at": at, "title": title, "score": score,
        "performance": performance, "colours": colours, "ratings": given,
    }  # fmt: skip
    if written(table, output, form, "norm", told, folder):
        return
    names = [found.name_of(key) for key in keys]
    rated: list[float | None] = list(answer.ratings) or [None] * len(keys)
    rows = [
        (name, None if elo is None else round(elo), f"{one:.2f}")
        for name, elo, one in zip(names, rated, forecast.expected, strict=True)
    ]
    typer.echo(f"{own.name} at {at}, {len(keys)} games")
    show.print_table(("opponent", "Elo", "expected"), rows)
    typer.echo(f"Expected score: {forecast.score:.1f} ± {forecast.sd:.1f} of {len(keys)}")
    if answer.average is not None:
        typer.echo(f"Average rating of the opponents: {answer.average:.0f}")
    if answer.needed is None:
        typer.echo(f"No chance of {answer.wanted}: {answer.reason}")
        return
    needs = "" if score is not None else f", which takes {answer.needed:g} of {len(keys)}"
    typer.echo(f"Chance of {answer.wanted}{needs}: {percent(answer.chance)}")


def _split_rating(typed: str) -> tuple[str, float | None]:
    from milepost.errors import InputError

    name, equals, rating = typed.rpartition("=")
    if not equals or not name:  # "=key" names a key
        return typed, None
    try:
        return name, float(rating)
    except ValueError:
        raise InputError(f"expected a rating behind = in {typed!r}, as in NAME=2650") from None
