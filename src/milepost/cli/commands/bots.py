"""The commands around the bot: match, book, personify."""

from __future__ import annotations

import functools
import math
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


_MATCH_COLUMNS = {
    "w/d/l": "w/d/l: wins, draws and losses.",
    "expected": "Expected: the score that the two Elos promise by Elo's formula.",
    "Elo (95 %)": "Elo: the difference that the score shows, with its 95 % interval; a clean score "
    "is read as if half a game more had been drawn.",
}
"""What the columns of a match say."""


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
        typer.Option(
            "--resign", min=0, help="A bot resigns when this many pawns behind; 0 = never."
        ),
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

    Games that lead nowhere are adjudicated as draws: from move 80 on, when no bot has seen an edge
    of more than 0.15 pawns in ten half-moves; and after 200 moves. Third repetitions and fifty
    moves are claimed at once.
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
            row["first"].removeprefix("Milepost "), row["second"].removeprefix("Milepost "),
            row["games"], f"{row['score']:.3f} ± {row['error']:.3f}",
            f"{row['wins']}/{row['draws']}/{row['losses']}",
            "" if row["expected"] is None else f"{row['expected']:.3f}",
            f"{row['elo']:+.0f} ({row['low']:+.0f} to {row['high']:+.0f})",
        ]
        for row in done.table.iter_rows(named=True)
    ]  # fmt: skip
    columns = ["first", "second", "games", "score", "w/d/l", "expected", "Elo (95 %)"]
    show.print_table(
        columns, rows, title="Scores of the first, with standard errors.", meanings=_MATCH_COLUMNS,
        whole=columns[2:], keep=["second", "score", "Elo (95 %)"],
        drop_first=["games", "expected", "w/d/l"], elsewhere="the PGN holds every result",
    )  # fmt: skip
    ends = ", ".join(_end_words(name, count) for name, count in done.terminations.items())
    unit = "game" if done.games == 1 else "games"
    if done.resumed == done.games:
        typer.echo(f"\nnothing to play: all {done.games} {unit} are in {output} ({ends})")
        return
    typer.echo(f"\n{done.games} {unit} -> {output} ({ends})")


_STATES = ("adjudicated", "resigned", "too long")
"""Ends of games that are said of the game; all others are what it ended by."""


def _end_words(name: str, count: int) -> str:
    """How many games ended so, such as 6 by checkmate."""
    return f"{count} {name}" if name in _STATES else f"{count} by {name}"


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
    from milepost.io.outputs import STDOUT

    band = None
    if elo is not None:
        low, dash, high = elo.partition("-")
        try:
            band = (float(low), float(high))
        except ValueError:
            dash = ""
        if not dash or band is None or band[0] > band[1]:
            raise InputError(f"--elo: expected LOW-HIGH such as 1700-1900, got {elo!r}")
    with show.progress("reading", quiet=quiet) as tell:
        counts = api.persons.make_book(
            inputs, output, elo=band, player=player, plies=2 * moves, least=least,
            workers=workers, progress=tell,
        )  # fmt: skip
    if not quiet:
        where = "standard output" if output == STDOUT else output
        text = f"{counts['games']:,} games, {counts['entries']:,} entries -> {where}"
        show.say(text, err=output == STDOUT)


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
    from milepost.errors import TooFewGamesError
    from milepost.io.outputs import STDOUT

    try:
        with show.progress("reading", quiet=quiet) as tell:
            found = api.persons.personify(
                inputs, store, player, plan=plan, engine=engine, calibration=calibration,
                least_games=least, workers=workers, progress=tell,
            )  # fmt: skip
    except TooFewGamesError as error:
        raise TooFewGamesError(f"{error} (--min-games N asks for N)") from error
    found.agent.save(output)
    if quiet:
        return
    ends = {found.range[0]: " or less", found.range[1]: " or more"}
    say = functools.partial(show.say, prose=True, err=output == STDOUT)
    where = "standard output" if output == STDOUT else output
    say(
        f"{found.turns:,} turns of {found.games:,} games, played like Elo {found.elo:.0f}"
        f"{ends.get(found.elo, '')} ({_interval_words(*found.elo_interval)}) -> {where}"
    )
    if found.elo in ends:
        say("That is the end of what this calibration knows; the bot plays there.")
    for line in _person_notes(found.games, found.games_read, found.elo_interval, found.range):
        say(line)
    most = api.minds.shipped_ranges()[plan][1]
    if calibration is None and found.elo > most:
        say(
            f"The plan {plan} guesses at that Elo, but plays at {most:.0f} at most: --plan quick "
            "makes an agent that can play stronger, and takes longer."
        )
    mean, low, high = found.gain_shares
    say(
        "Style: in games left out of the fit, their moves are "
        f"{abs(100 * mean):.1f} % {'more' if mean >= 0 else 'less'} probable with a style of their "
        f"own than without (95 % interval {_percent(low)} to {_percent(high)})."
    )
    nats = found.gain
    show.detail(f"held-out gain: {nats[0]:+.5f} nats a turn ({nats[1]:+.5f} to {nats[2]:+.5f})")
    if not found.found:
        say("No style found: the interval is not above 0, so the file holds the Elo alone.")


def _person_notes(
    games: int, read: int | None, interval: tuple[float, float], known: tuple[float, float]
) -> list[str]:
    """What to know of the games and the interval of a person."""
    lines = []
    left = 0 if read is None else read - games
    if left > 0:
        has = "game has" if left == 1 else "games have"
        lines.append(
            f"{left:,} other {has} no turn that counts: from the ninth move on, within three pawns."
        )
    if any(math.isfinite(end) and not known[0] <= end <= known[1] for end in interval):
        lines.append(
            f"The interval goes beyond Elo {known[0]:.0f} to {known[1]:.0f}, which is what this "
            "calibration knows: there it is carried on, not measured."
        )
    return lines


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f} %"  # the sum makes 0.0 of -0.0


def _interval_words(low: float, high: float) -> str:
    """An interval of Elo in words; an end may have no bound."""
    if math.isinf(low) and math.isinf(high):
        return "these turns set it no bound"
    if math.isinf(low) or math.isinf(high):
        bound = f"{high:.0f} at most" if math.isinf(low) else f"{low:.0f} at least"
        return f"95 % interval: {bound}"
    return f"95 % interval {low:.0f} to {high:.0f}"
