"""The command that asks how probable moves are: likelihood."""

from __future__ import annotations

from typing import Annotated

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.cli.commands.rate import numbers_of


def likelihood(
    inputs: options.Inputs,
    store: shared.Store = None,
    player: shared.Players = None,
    elo: Annotated[
        str,
        typer.Option("--elo", metavar="ELO,...", help="Ratings to compare."),
    ] = "1600,2000,2400,2800",
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            metavar="MEAN,SD",
            help="What you know of the rating beforehand.",
            show_default="even from 600 to 3400",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write what is known after each game to this table.",
        ),
    ] = None,
    turns: Annotated[
        str | None,
        typer.Option(
            "--turns-out", metavar="OUT", help="Write the probability of each move to this table."
        ),
    ] = None,
    calibration: shared.Named = None,
    force: shared.Force = False,
    level: shared.Level = 0.95,
    setup: shared.Setup = None,
    form: options.Format = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Show which Elo a series of moves fits best, game by game.

    Compares the ratings given with --elo, and says what is known of the rating after each game.
    """
    from milepost import api
    from milepost.errors import InputError
    from milepost.io.files import format_of, write_table

    asked = numbers_of(elo, "--elo")
    belief = None
    if prior is not None:
        given = numbers_of(prior, "--prior")
        if len(given) != 2:
            raise InputError(f"--prior: expected MEAN,SD, got {prior!r}")
        belief = (given[0], given[1])
    if output is not None:
        format_of(output, form)
    if turns is not None:
        format_of(turns)
    decisions = shared.read_decisions(
        inputs, store, setup=setup, player=player, workers=workers, quiet=quiet
    )
    chosen = shared.find_calibration(calibration, decisions, store, quiet=quiet)
    answer = api.ratings.likelihood(
        decisions, elo=asked, prior=belief, calibration=chosen, force=force, level=level
    )
    if not quiet:
        for note in answer.notes[len(chosen.notes) :]:
            show.say(f"--elo: {note}", err=True)
    if output is not None:
        write_table(answer.games, output, form=form, made=answer.made)
    if turns is not None:
        write_table(answer.turns, turns, made=answer.made)
    names = decisions.names
    games = answer.games.drop("game_id", "player_mean").with_columns(
        answer.games[name].replace(names) for name in ("mover", "opponent") if name in answer.games
    )
    if answer.sentence:
        show.say(answer.sentence)
    shared.show_numbers(answer.totals, "Probability of all these moves")
    title = f"Elo after each game, {level:.0%} intervals: of the performance, and of the player"
    shared.show_numbers(games, title)
    if answer.warning is not None:
        show.say(answer.warning, err=True)
