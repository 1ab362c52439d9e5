"""Openings and persons: books of games, and one person's agent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import polars as pl

from milepost.api.analyses import analyse, turns_of
from milepost.api.decisions import decisions
from milepost.api.ratings import find_calibration
from milepost.choice.spreads import Spreads
from milepost.errors import InputError, MissingEvaluationsWarning
from milepost.games.book import count_openings, write_book
from milepost.games.load import read_games, read_turns
from milepost.games.players.find import PlayerFinder
from milepost.games.turns.replay import BOOK_MOVES
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.choosing.personify import LEAST_GAMES, Personified, refuse_few
from milepost.intrinsic.choosing.personify import personify as fit_person
from milepost.io.outputs import refuse_inputs
from milepost.io.progress import Report, step_of
from milepost.io.sources import Inputs, find_sources
from milepost.tables import is_frame

BOOK_PLIES = 16


def make_book(
    inputs: Inputs | Any,
    output: str | Path,
    *,
    elo: tuple[float, float] | None = None,
    player: str | None = None,
    plies: int = BOOK_PLIES,
    least: int = 2,
    workers: int = 1,
    progress: Report | None = None,
) -> dict[str, int]:
    """Make a weighted opening book of games, in the Polyglot format.

    Parameters
    ----------
    inputs
        Games.
    output
        The book.
    elo
        Only moves of players within this band.
    player
        Only moves of this player: a key, a name, or a part of one.
    plies
        Half-moves of each game that count.
    least
        Moves that were played less often in a position are left out.
    workers, progress
        Processes to read games with; called while they are read.

    Returns
    -------
    dict
        Games that counted, and entries that were written.

    Raises
    ------
    InputError
        If no move is left.
    OutputError
        If the book would be written over one of the inputs.
    """
    if not is_frame(inputs):
        inputs = find_sources(inputs)
        refuse_inputs(output, inputs.paths)
    games, _ = read_games(inputs, workers=workers, progress=progress)
    if games.is_empty():
        raise InputError("no move is left for the book: there are no games in what was given")
    who = None if player is None else _find(games, player)
    counted = 0

    def sides() -> Iterator[tuple[chess.Board, list[tuple[chess.Move, float]]]]:
        nonlocal counted
        wanted = ("white_key", "black_key", "white_elo", "black_elo", "fen", "variant", "moves")
        for white, black, white_elo, black_elo, fen, variant, moves in games.select(
            wanted
        ).iter_rows():
            if fen is not None or variant not in (None, "standard") or not moves:
                continue
            keep = [
                (who is None or key == who)
                and (elo is None or (rated is not None and elo[0] <= rated <= elo[1]))
                for key, rated in ((white, white_elo), (black, black_elo))
            ]
            if any(keep):
                counted += 1
                texts = moves.split(" ")[:plies]
                yield (
                    chess.Board(),
                    [
                        (chess.Move.from_uci(text), float(keep[at % 2]))
                        for at, text in enumerate(texts)
                    ],
                )

    counts = count_openings(sides(), plies)
    entries = write_book(counts, output, least=least) if counts else 0
    if not entries:
        raise InputError(
            "no move is left for the book: "
            + (
                f"no move of {counted:,} games was played {least} times in its position"
                if counted
                else f"none of {len(games):,} games is by such players and from the "
                "starting position"
            )
        )
    return {"games": counted, "entries": entries}


def _find(games: pl.DataFrame, player: str) -> str:
    keys = pl.concat(
        [
            games.select(pl.col(f"{side}_key").alias("key"), pl.col(side).alias("name"))
            for side in ("white", "black")
        ]
    ).drop_nulls("key")
    players = keys.group_by("key").agg(pl.len().alias("games"), pl.col("name").first())
    return PlayerFinder(players).find(player).key


def personify(
    inputs: Inputs | Any,
    store: str | Path,
    player: str | Iterable[str],
    *,
    plan: str = "bullet",
    engine: str | None = None,
    calibration: Calibration | str | Path | None = None,
    least_games: int = LEAST_GAMES,
    seed: int = 2011,
    workers: int = 1,
    progress: Report | None = None,
) -> Personified:
    """Fit one person's agent to their games; the engine scores what the store lacks.

    Parameters
    ----------
    inputs, store
        Their games, and the store of evaluations; it is made if there is none.
    player
        Who: a key, a name, or a part of one.
    plan, engine
        How the engine searches, and which one: the bot must use the same.
    calibration
        Another calibration than the shipped one.
    least_games
        Fewer games are refused.
    seed
        Of the interval.
    workers, progress
        Engines at a time; called with the step (reading, analysing, fitting) while they work.

    Returns
    -------
    Personified
        The agent (`agent.save` writes it; no name is in it), and the held-out gain.

    Raises
    ------
    InputError
        If the player is not found; `TooFewGamesError` if there are too few games.
    """
    reading = step_of(progress, "reading")
    turns, _ = read_turns(inputs, workers=workers, progress=reading)
    # Refused before the engine has worked for an hour, not after.
    own = turns_of(turns, [player] if isinstance(player, str) else list(player))
    refuse_few(own.filter(pl.col("ply") >= 2 * BOOK_MOVES)["game_id"].n_unique(), least_games)
    analysis = analyse(
        turns, store, plan, engine=engine, player=player, workers=workers,
        progress=step_of(progress, "analysing", "positions"),
    )  # fmt: skip
    # The opponents' turns are not analysed, on purpose: no word about them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        found = decisions(
            turns, store, setup=analysis.setups[0], player=player, workers=workers,
            progress=reading,
        )  # fmt: skip
    chosen = find_calibration(calibration, found)
    chosen.refuse_other(found.setup)
    fitted = fit_person(
        Spreads.from_table(found.table),
        chosen,
        least_games=least_games,
        seed=seed,
        progress=step_of(progress, "fitting", "fits"),
    )
    return replace(fitted, games_read=own["game_id"].n_unique())
