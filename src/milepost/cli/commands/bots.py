"""The commands around the bot: match, book, personify."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.help import Command


class OfContenders(Command):
    """A command whose arguments look like options: "--elo 1600" is one contender, in quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[Any]:
        """Set quoted contenders apart from options: a blank before them makes them arguments."""
        apart = [
            f" {typed}" if typed.startswith("--") and " " in typed else typed for typed in args
        ]
        return super().parse_args(ctx, apart)


def match(
    contenders: Annotated[
        list[str],
        typer.Argument(
            metavar="CONTENDER...",
            help="Each one in quotes, as options: '--elo 1600 --plan quick'. Another engine: \"--"
            "uci PATH --nodes 10000 --uci-option 'Skill Level=3'\".",
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PGN", help="Write the games to this PGN file.")
    ],
    games: Annotated[int, typer.Option("--games", min=1, help="Games for each pair.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.")] = 2011,
    resign: Annotated[
        float,
        typer.Option("--resign", help="A bot resigns when this many pawns behind; 0 = never."),
    ] = 10.0,
    opening: Annotated[
        str | None, typer.Option("--opening", metavar="FEN", help="Start from this position.")
    ] = None,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Let bots and other UCI engines play each other.

    Everyone plays everyone, with alternating colours. An interrupted match goes on where it
    stopped; one that is finished plays nothing, or the games that --games now asks for besides.
    """
    from milepost import api

    rules = api.matches.MatchRules(resign_pawns=resign or None, opening=opening)
    with show.progress("playing", quiet=quiet, unit="games") as tell:
        done = api.matches.match(
            contenders, output, games=games, seed=seed, rules=rules, workers=workers, progress=tell
        )
    if quiet:
        return
    rows = [
        [
            row["first"], row["second"], row["games"], f"{row['score']:.3f} ± {row['error']:.3f}",
            "" if row["expected"] is None else f"{row['expected']:.3f}",
            f"{row['wins']}/{row['draws']}/{row['losses']}",
            f"{row['elo']:+.0f} ({row['low']:+.0f} to {row['high']:+.0f})",
        ]
        for row in done.table.iter_rows(named=True)
    ]  # fmt: skip
    columns = ["first", "second", "games", "score", "by Elo", "w/d/l", "Elo (95 %)"]
    show.print_table(
        columns, rows, title="Scores of the first, with standard errors",
        whole=columns[2:], keep=["score", "Elo (95 %)"], drop_first=["w/d/l", "by Elo"],
        elsewhere="the PGN holds every result",
    )  # fmt: skip
    ends = ", ".join(f"{count} {name}" for name, count in done.terminations.items())
    unit = "game" if done.games == 1 else "games"
    if done.resumed == done.games:
        typer.echo(f"\nnothing to play: all {done.games} {unit} are in {output} ({ends})")
        return
    typer.echo(f"\n{done.games} {unit} -> {output} ({ends})")


def book(
    inputs: options.Inputs,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="BIN", help="Write the book to this file.")
    ],
    elo: Annotated[
        str | None,
        typer.Option(
            "--elo", metavar="LOW-HIGH", help="Only moves by players rated in this range."
        ),
    ] = None,
    player: Annotated[
        str | None, typer.Option("--player", help="Only moves by this player.")
    ] = None,
    moves: Annotated[
        int, typer.Option("--moves", min=1, help="Moves to take from the start of each game.")
    ] = 8,
    least: Annotated[
        int, typer.Option("--min-count", min=1, help="Leave out moves played less often than this.")
    ] = 2,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Make an opening book (Polyglot) from games."""
    from milepost import api
    from milepost.errors import InputError

    band = None
    if elo is not None:
        low, dash, high = elo.partition("-")
        try:
            band = (float(low), float(high))
        except ValueError:
            dash = ""
        if not dash:
            raise InputError(f"--elo: expected LOW-HIGH, got {elo!r}")
    with show.progress("reading", quiet=quiet) as tell:
        counts = api.persons.make_book(
            inputs, output, elo=band, player=player, plies=2 * moves, least=least,
            workers=workers, progress=tell,
        )  # fmt: skip
    if not quiet:
        typer.echo(f"{counts['games']:,} games, {counts['entries']:,} entries -> {output}")


def personify(
    inputs: options.Inputs,
    player: Annotated[str, typer.Option("--player", help="Whose games: a name or part of it.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="JSON", help="Write the agent to this file; it holds no name."
        ),
    ],
    store: Annotated[
        str,
        typer.Option("--store", metavar="DIR", help="The evaluation store; made if there is none."),
    ] = "evaluations",
    plan: Annotated[
        str,
        options.choice(
            "--plan",
            ("bullet", "quick", "standard"),
            help="How the engine searches: bullet, quick or standard; milepost play uses the same.",
            listed=False,
        ),
    ] = "bullet",
    engine: options.Engine = None,
    calibration: Annotated[
        str | None, typer.Option("--calibration", metavar="FILE", help="Use this calibration.")
    ] = None,
    least: Annotated[
        int, typer.Option("--min-games", min=5, help="Refuse to fit fewer games than this.")
    ] = 20,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Fit a bot to one person's games, for milepost play --agent.

    Says how much better it predicts games left out of the fit, and whether it found a style at all.
    """
    from milepost import api

    with show.progress("analysing", quiet=quiet, unit="positions") as tell:
        found = api.persons.personify(
            inputs, store, player, plan=plan, engine=engine, calibration=calibration,
            least_games=least, workers=workers, progress=tell,
        )  # fmt: skip
    found.agent.save(output)
    mean, low, high = found.gain
    ends = {found.range[0]: " or less", found.range[1]: " or more"}
    typer.echo(
        f"{found.turns:,} turns of {found.games:,} games: Elo {found.elo:.0f}"
        f"{ends.get(found.elo, '')} by the moves -> {output}"
    )
    if found.elo in ends:
        typer.echo("That is the end of what this calibration knows; the bot plays there.")
    most = api.minds.shipped_ranges()[plan][1]
    if calibration is None and found.elo > most:
        typer.echo(
            f"The plan {plan} guesses at that Elo, but plays at {most:.0f} at most: --plan quick "
            "makes an agent that can play stronger, and takes longer."
        )
    typer.echo(
        f"Held-out gain over the agent of that Elo: {1000 * mean:+.1f} thousandths of a nat a turn "
        f"({1000 * low:+.1f} to {1000 * high:+.1f}, 95 %)"
    )
    if not found.found:
        typer.echo("No style found: the interval reaches 0, so the file holds the Elo alone.")
