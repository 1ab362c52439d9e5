"""The commands of the bot: play, guess."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.help import Command

_PLANS = "How the engine searches: bullet, blitz, quick or standard; deeper is better and slower."
_ELO, _GUESSED_ELO = 1800.0, 1500.0
"""What play and guess go by, if no Elo is given."""
Plan = Annotated[
    str | None,
    options.choice(
        "--plan",
        ("bullet", "blitz", "quick", "standard"),
        help=_PLANS,
        listed=False,
        show_default="quick, or the agent's",
    ),
]
Calibration = Annotated[
    str | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Use this calibration instead of the one that comes with the package.",
    ),
]


def play(
    elo: Annotated[
        float | None,
        typer.Option(
            "--elo",
            metavar="NUMBER",
            help="Elo to play like; not used with --agent.",
            show_default=f"{_ELO:.0f}",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="FILE",
            help="Play like one person, at their Elo: a file from milepost personify.",
        ),
    ] = None,
    engine: options.Engine = None,
    plan: Plan = None,
    calibration: Calibration = None,
    book: Annotated[
        str | None,
        typer.Option("--book", metavar="FILE", help="A Polyglot opening book; none = no book."),
    ] = None,
    choice: Annotated[
        str,
        options.choice(
            "--choice",
            ("sample", "likeliest"),
            help="How to choose a move: sample (as often as humans play it) or likeliest "
            "(stronger).",
            listed=False,
        ),
    ] = "sample",
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            help="-1: every game is another one. Else the first, second … game after the start is "
            "the same each time, against the same moves.",
        ),
    ] = -1,
    form: Annotated[
        int,
        typer.Option(
            "--form", help="How much the Elo varies from game to game (standard deviation)."
        ),
    ] = 0,
    think_time: Annotated[
        str,
        options.choice(
            "--think-time",
            ("instant", "human", "fixed"),
            help="Time per move: instant, human or fixed (an even share).",
            listed=False,
        ),
    ] = "instant",
    clock_strength: Annotated[
        bool, typer.Option("--clock-strength", help="Play weaker when short of time, as humans do.")
    ] = False,
) -> None:
    """Run a UCI engine that plays like a human of a given Elo.

    Enter it as an engine in any chess program, which can set every option as a UCI option too. Use
    BOT accounts only: no bot may play on a server as a human.
    """
    from milepost.play.loop import main
    from milepost.play.options import plan_of

    _check_elo(elo, _ELO)
    plan = plan or plan_of(agent)
    _note_own_elo(elo, agent)
    given = {
        "UCI_Elo": str(round(_ELO if elo is None or agent is not None else elo)),
        "Plan": plan,
        "Choice": choice,
        "Seed": str(seed),
        "Form": str(form),
        "ThinkTime": think_time,
        "ClockStrength": str(clock_strength).lower(),
    }
    check(given)
    files = {"Agent": agent, "Calibration": calibration}
    given |= {name: path for name, path in files.items() if path is not None}
    if book == "none":
        given["OwnBook"] = "false"
    elif book is not None:
        given["BookFile"] = book
    raise typer.Exit(main(given, engine, bridge_help(engine, plan)))


def _check_elo(elo: float | None, such_as: float) -> None:
    from milepost.errors import InputError

    if elo is not None and not math.isfinite(elo):
        raise InputError(f"--elo: expected a number such as {such_as:.0f}, got {elo}")


def _note_own_elo(elo: float | None, agent: str | None) -> None:
    """Say that an Elo counts for nothing beside the agent of a person."""
    if elo is not None and agent is not None:
        show.note(f"Note: --elo {elo:g} is not used: the agent {agent} has an Elo of its own.")


def check(given: dict[str, str]) -> None:
    """Refuse what a GUI could not set either; say which Elo a plan will play at."""
    from milepost.errors import InputError
    from milepost.play.options import PLANS, declare, playing_range

    plan, elo = given["Plan"], int(given["UCI_Elo"])
    if plan not in PLANS:
        raise InputError(f"--plan: expected {', '.join(PLANS)}, got {plan!r}")
    for name, option in declare({}).items():
        if name in given and option.read(given[name]) is None:
            wanted = " or ".join(option.choices) or option.kind
            raise InputError(f"{name}: expected {wanted}, got {given[name]!r}")
        bounded = option.bounded(given[name]) if name in given and name != "UCI_Elo" else None
        if bounded:
            typer.echo(bounded, err=True)
    low, high = playing_range(plan)
    if not low <= elo <= high:
        nearest = min(max(elo, low), high)
        typer.echo(
            f"--elo {elo}: {plan} plays at {low} to {high}, so it will play at {nearest}", err=True
        )


def bridge_help(engine: str | None, plan: str) -> str:
    """Return the command that carries a calibration over to an engine."""
    path = engine or "PATH"
    return (
        f"  milepost calibrate --bridge stockfish15.1-quick --engine {path} --plan {plan} "
        f"-o mine.json\nmakes one; then say --calibration mine.json"
    )


_SHOWN_MOVES = 8


class OfPosition(Command):
    """A command whose argument is a position: a FEN has blanks, and many forget the quotes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Say what to do where a FEN comes in pieces."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            said: Any = error
            _, extra, words = getattr(said, "message", "").partition("unexpected extra argument")
            if extra:
                rest = words.rpartition("(")[2].rstrip(")")
                first = next((typed for typed in args if "/" in typed), "FEN")
                said.message = f'put the FEN in quotes: "{first} {rest}"'
            raise


def guess(
    position: Annotated[
        str, typer.Argument(metavar="FEN", help="The position; startpos is the starting position.")
    ],
    elo: Annotated[
        float | None,
        typer.Option(
            "--elo",
            metavar="NUMBER",
            help="Elo of the side to move; not used with --agent.",
            show_default=f"{_GUESSED_ELO:.0f}",
        ),
    ] = None,
    plan: Plan = None,
    engine: options.Engine = None,
    calibration: Calibration = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent",
            metavar="FILE",
            help="Guess what one person would play, at their Elo: a file from milepost personify.",
        ),
    ] = None,
    moves: Annotated[
        int | None,
        typer.Option(
            "--top",
            min=1,
            metavar="N",
            help="How many moves to show.",
            show_default=f"{_SHOWN_MOVES}; in a table all",
        ),
    ] = None,
    form: options.Format = None,
    output: options.AnswerTable = None,
) -> None:
    """Show what humans of an Elo would play in a position."""
    import polars as pl

    from milepost import api
    from milepost.errors import NoCalibrationError
    from milepost.io.files import format_of, write_table
    from milepost.io.outputs import STDOUT

    _check_elo(elo, _GUESSED_ELO)
    _note_own_elo(elo, agent)
    if output is not None:
        format_of(output, form)
    asked = _GUESSED_ELO if elo is None else elo
    try:
        found = api.play.guess(
            position, asked, plan=plan, engine=engine, calibration=calibration, agent=agent
        )
    except NoCalibrationError as error:
        raise NoCalibrationError(f"{error}:\n{bridge_help(engine, plan or 'quick')}") from error
    if output is not None:
        # What is behind these digits is no more than rounding.
        table = found.table.with_columns(
            pl.col("probability").round_sig_figs(6), pl.col("value", "loss").round(4)
        )
        table = table.head(moves or len(table))
        write_table(table, output, form=form, made=found.made)
        if output != STDOUT:
            unit = "move" if len(table) == 1 else "moves"
            show.note(f"{len(table)} {unit} -> {output}")
        _show_notes(found.notes)
        return
    _show(found, moves or _SHOWN_MOVES)


_SOURCES = {
    "agent": "its agents for positions within three pawns",
    "decided": "agents for positions beyond three pawns",
    "technique": "the method that people learn against a bare king",
    "solved": "an ending that is solved",
}
"""Where the probabilities come from, in words."""


def _show(found: object, moves: int) -> None:
    import chess

    from milepost import api

    assert isinstance(found, api.guesses.Guess)
    board = chess.Board(found.position)
    typer.echo(f"\n{board_text(board)}\n")
    side = "White" if board.turn else "Black"
    typer.echo(f"{side} to move; what a human of Elo {found.elo:.0f} would play\n")
    rows = [
        [row["san"], f"{row['probability']:.1%}", row["score"], f"{row['loss']:.2f}",
         "█" * round(30 * row["probability"])]
        for row in found.table.head(moves).iter_rows(named=True)
    ]  # fmt: skip
    show.print_table(["move", "humans", "value", "gives away", ""], rows, title=None)
    rest = found.table["probability"].slice(moves).sum()
    if rest > 0.0005:
        typer.echo(f"  {len(found.table) - moves} other moves: {rest:.1%}")
    typer.echo(
        f"\nChance of a slip of a pawn or more: {found.slip:.1%}. "
        f"Expected loss: {found.expected_loss:.2f} pawns."
    )
    typer.echo(f"{found.best_text}.")
    _show_notes(found.notes)
    told = found.made["options"]
    source = _SOURCES.get(found.source, found.source)
    show.say(f"(calibration {told['calibration']}; {source})", prose=True)


def _show_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        show.note(f"Note: {note}.", prose=True)


def board_text(board: object) -> str:
    """Return a board for the terminal, White below."""
    import chess

    assert isinstance(board, chess.Board)
    lines = []
    for rank in range(7, -1, -1):
        men = [board.piece_at(chess.square(file, rank)) for file in range(8)]
        signs = " ".join("·" if man is None else man.symbol() for man in men)
        lines.append(f"  {rank + 1}  {signs}")
    return "\n".join([*lines, "     a b c d e f g h"])
