"""Fair play: from games to evidence about performances, screened or in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost.api.decisions import Decisions, decisions
from milepost.api.deep_look import look_deep, stored_deep_moves
from milepost.api.fairplay_result import Check, CheckPlan
from milepost.api.fairplay_screening import screened
from milepost.api.ratings import find_calibration
from milepost.choice.evaluation.evaluate import prepare
from milepost.choice.spreads import Ints, Spreads
from milepost.errors import InputError, OutputError
from milepost.fairplay import ledger, words
from milepost.fairplay.deep.look import DeepTest
from milepost.fairplay.evidence.standard_scores import STEP, correlation_text
from milepost.fairplay.exclusions import Variant, known_positions, sensitivity_variants
from milepost.fairplay.full import FullTest, full_test
from milepost.fairplay.given_ratings import (
    IN_THE_GAME,
    RatedDecisions,
    parse_elos,
    with_given_ratings,
)
from milepost.fairplay.performances import Board, Performance, make_board, performances
from milepost.fairplay.reference.honest import HonestPlayers, honest_players
from milepost.fairplay.results.luck import split_results
from milepost.fairplay.screen import (
    event_as_a_whole,
)
from milepost.games.rounds import round_number, round_numbers
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import climb_beside_own
from milepost.intrinsic.rating.rate import own_elo
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs, find_sources
from milepost.tables import as_frame, is_frame

REPORT_ENDINGS = (".html", ".htm", ".pdf")
"""How a report's name ends."""
_ENOUGH_DEEP = 0.95
"""A deep look counts if it knows so many of a performance's turns."""


def check(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    player: str | Iterable[str] = (),
    elos: Mapping[str, float] | None = None,
    ratings: str | Path | pl.DataFrame | None = None,
    known_games: Inputs | pl.DataFrame | None = None,
    calibration: Calibration | str | Path | None = None,
    plan: CheckPlan | None = None,
    looked_at: str | None = None,
    workers: int = 1,
    progress: Report | None = None,
) -> Check:
    """Compare performances with honest play: screen an event, or test a player in full.

    Parameters
    ----------
    inputs, store
        The games of one event whose turns are in a store, or decisions; see `milepost.decisions`.
    player
        The players to test in full (`CheckPlan.full`); the event is screened as a whole all the
        same, for a performance is judged beside the others.
    elos, ratings
        Ratings from before the event, given by hand or as a table (`player` or `name`, `elo`,
        perhaps `rating_sd`), where the games do not say them.
    known_games
        Games or turns from before the event: what stood on their boards counts as known, for the
        sensitivity table.
    calibration
        See `milepost.rate`. One for another set-up is refused.
    plan
        How to check.
    looked_at
        The time of this look, for the store's ledger [default: it is not entered there].
    workers, progress
        See `milepost.rate`.

    Returns
    -------
    Check

    Raises
    ------
    InputError
        If nobody has a rating, the calibration is for another set-up, or a name means nobody.
    """
    how = plan or CheckPlan()
    wanted = [player] if isinstance(player, str) else list(player)
    if how.full and not wanted:
        raise InputError("a full test is of one player: name whom")
    read = decisions(
        inputs, store, setup=how.setup, plan=how.search, workers=workers, progress=progress
    )
    chosen = find_calibration(calibration, read)
    chosen.refuse_other(read.setup)
    honest = honest_players(chosen)
    read = _up_to(read, how.after_round)
    rated = with_given_ratings(read.table, elos=list((elos or {}).items()), table=ratings)
    keys = [_key(rated, read, name) for name in wanted]
    # Ratings and tests stand on the same ladder, which is most of the work.
    testable = chosen.map.reading == "likelihood" and len(rated.sources) > 0
    prepared, ladder, agents = None, None, None
    if testable:
        path = chosen.map.path
        prepared = prepare(Spreads.from_table(rated.table), path.model)
        ladder, agents = climb_beside_own(
            prepared,
            path,
            own_elo(prepared.spreads, chosen),
            first=True,
            probabilities=True,
            nearby=(STEP, -STEP),
        )
    # No other engine of the store joins the menu: honest players find moves of a deeper search
    # more often than agents that know the judge's values alone. The deep look reckons with that.
    board = make_board(rated.table, chosen, honest, ladder=ladder, prepared=prepared, agents=agents)
    found = performances(board, rating_sd=dict(rated.rating_sds))
    table, indexed, mirror_notes = screened(
        board, found, rated, read, how, ladder, prepared, agents
    )
    by_key = {each.player: each for each in found}
    tested = [by_key[key] for key in dict.fromkeys(keys)] if how.full else []
    variants = _variants(board, known_games, workers) if tested else ()
    deep = _deep_moves(read, rated, store, honest) if tested else None
    full = tuple(
        full_test(
            each,
            np.random.default_rng(how.seed),
            deep=_enough(deep, each),
            variants=variants,
            other_ratings=_later(each, how, read),
            prior_odds=how.prior_odds,
            draws=how.draws,
            progress=progress,
        )
        for each in tested
    )
    given = _given(rated)
    told = _told(how, chosen, read, wanted, given)
    beside = [about for files in (ratings, known_games) for about in _digests(files)]
    made = provenance("check", told, [*(dict(one) for one in read.inputs), *beside])
    looks = _enter(looked_at, store, made, board, found, tested)
    return Check(
        table=table,
        event=event_as_a_whole(indexed),
        full=full,
        luck=split_results(
            board.table, chosen, board.ladder, play_sd=honest.play_sd, games=board.games
        ),
        performances=tuple(found),
        calibration=chosen,
        honest=honest,
        decisions=replace(read, table=rated.table),
        notes=tuple(
            _notes(rated, chosen, honest, read, how)
            | dict.fromkeys([*mirror_notes, *_deep_notes(full, honest)])
        ),
        looks=looks,
        made=made,
    )


def look_deep_at(
    found: Decisions,
    store: str | Path,
    player: Iterable[str],
    *,
    workers: int = 1,
    progress: Report | None = None,
) -> str:
    """Let the engine look deep at the turns of some players, for their full tests.

    Parameters
    ----------
    found
        The decisions of the event.
    store
        The evaluation store; deep looks are kept within its folder.
    player
        Who.
    workers, progress
        For the engine.

    Returns
    -------
    str
        Why nothing was looked at; empty = it was.
    """
    pull = honest_players(find_calibration(None, found)).deep
    if pull is None:
        return "honest players were not measured with a deep look for this calibration"
    mine = found.of_players(list(player))
    return look_deep(mine.table, store, pull, workers=workers, progress=progress)


def _deep_moves(
    read: Decisions, rated: RatedDecisions, store: str | Path | None, honest: HonestPlayers
) -> Ints | None:
    """The deep search's option of every decision of a player with a rating."""
    if honest.deep is None or store is None:
        return None
    rows = rated.table.select(
        pl.col("mover_elo").is_not_null() & pl.col("mover").is_not_null()
    ).to_series()
    moves: Ints = stored_deep_moves(read, store, honest.deep)[rows.to_numpy()]
    return moves


def _enough(deep: Ints | None, real: Performance) -> Ints | None:
    if deep is None or (deep[real.rows] >= 0).mean() < _ENOUGH_DEEP:
        return None
    answer: Ints = deep[real.rows]
    return answer


def _deep_notes(full: Sequence[FullTest], honest: HonestPlayers) -> list[str]:
    if not any(test.deep is None for test in full):
        return []
    why = "was not made" if honest.deep else "cannot be had: no honest players were measured for it"
    return [f"the deep look {why}, so help by a strong engine may go unseen in the full test"]


def _digests(files: Any) -> list[dict[str, Any]]:
    """What to say of files that figures rest on besides the games; a frame has no digest."""
    return [] if files is None or is_frame(files) else find_sources(files).about()


def check_report_ending(path: str | Path | None) -> None:
    """Refuse a name whose ending promises something else than a report.

    Raises
    ------
    OutputError
        If it does not end as HTML or PDF does.
    """
    if path is not None and Path(path).suffix.lower() not in REPORT_ENDINGS:
        raise OutputError(f"{path}: a report is HTML or PDF; its name must end in .html or .pdf")


def _up_to(read: Decisions, last: int | None) -> Decisions:
    """The decisions of rounds up to one, with the number of the round."""
    table = read.table
    if "round" not in table.columns:
        table = table.with_columns(pl.lit(None, dtype=pl.String).alias("round"))
    numbered = replace(
        read, table=table.with_columns(round_numbers(pl.col("round")).alias("round_number"))
    )
    if last is None:
        return numbered
    if not numbered.table["round_number"].is_not_null().any():
        raise InputError("these games do not say their rounds, so none can be left out by round")
    kept = numbered.filter(pl.col("round_number") <= last)
    if not len(kept):
        raise InputError(f"no evaluated game is of a round up to {last}")
    return kept


def _key(rated: RatedDecisions, read: Decisions, name: str) -> str:
    """Whom a name means: somebody with a rating, or there is no test."""
    keys = read.of_players([name]).table["mover"].unique()
    has_rating = pl.col("mover").is_in(keys.implode()) & pl.col("mover_elo").is_not_null()
    known = sorted(rated.table.filter(has_rating)["mover"].unique().to_list())
    if not known:
        raise InputError(f"{name} has no rating from before the event, so no test: give one")
    return str(known[0])


def _variants(
    board: Board, known_games: Inputs | pl.DataFrame | None, workers: int
) -> tuple[Variant, ...]:
    """The fixed list of ways to leave turns out; see `milepost.fairplay.exclusions`."""
    from milepost.games.load import read_turns

    if known_games is None:
        return sensitivity_variants(board.table)
    if is_frame(known_games):
        turns = as_frame(known_games)
    else:
        turns = read_turns(known_games, workers=workers)[0]
    years = board.table["year"].drop_nulls().to_list() if "year" in board.table.columns else []
    if not years:
        raise InputError("these games do not say their year: nothing can be earlier than they are")
    # Decisions know the year of a game: what surely stood before the event is of earlier years.
    known = known_positions(turns, f"{min(years):04d}.01.01")
    return sensitivity_variants(board.table, known=known)


def _later(real: Performance, how: CheckPlan, read: Decisions) -> dict[str, float]:
    if not how.later_elos:
        return {}
    for name, elo in how.later_elos.items():
        if real.player in read.of_players([name]).table["mover"].to_list():
            return {"rating after the event": float(elo)}
    return {}


def _given(rated: RatedDecisions) -> list[float]:
    """The ratings that do not come from the games."""
    if all(source == IN_THE_GAME for source in rated.sources.values()):
        return []
    elos = dict(rated.table.select("mover", "mover_elo").drop_nulls().rows())
    return sorted(float(elo) for key, elo in elos.items() if rated.sources.get(key) != IN_THE_GAME)


def _told(
    how: CheckPlan,
    chosen: Calibration,
    read: Decisions,
    wanted: Sequence[str],
    given: Sequence[float],
) -> dict[str, Any]:
    told = {name: value for name, value in vars(how).items() if name != "later_elos"}
    told |= {"prior_odds": list(how.prior_odds), "calibration": chosen.name}
    told |= {"given_ratings": given, "later_ratings": sorted(how.later_elos.values())}
    told |= {"players": len(wanted), "digest": read.setup, "setup": dict(read.setup_details)}
    return told


def _notes(
    rated: RatedDecisions,
    chosen: Calibration,
    honest: HonestPlayers,
    read: Decisions,
    how: CheckPlan,
) -> dict[str, None]:
    notes = [note.text for note in rated.notes if not note.player]
    if honest.caution:
        notes.append(honest.caution)
    notes.append(f"honest play: {honest.rests_on}")
    if not honest.measured:
        notes.append(
            "there is no set of honest performances for this calibration: p rests on the model "
            "alone, and may be too small"
        )
    notes += list(chosen.notes)
    if len(read.errors):
        kinds = read.errors.group_by("kind").len().sort("kind")
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.iter_rows())
        notes.append(
            f"games with faults: {counts}; their other moves and results are used as given"
        )
    events = rated.table["event"].n_unique() if "event" in rated.table.columns else 1
    if events > 1:
        notes.append(f"games of {events} events are taken together here: check one event at a time")
    if how.after_round is not None:
        notes.append(f"games up to round {how.after_round} alone")
    return dict.fromkeys(notes)


def _enter(
    looked_at: str | None,
    store: str | Path | None,
    made: Mapping[str, Any],
    board: Board,
    found: Sequence[Performance],
    tested: Sequence[Performance],
) -> str:
    """Enter the look into the store's ledger, and say what it holds."""
    if looked_at is None or store is None:
        return ""
    path = ledger.ledger_of(store)
    events = ", ".join(board.table["event"].drop_nulls().unique().sort().to_list()) \
        if "event" in board.table.columns else ""  # fmt: skip
    options = dict(made["options"])
    settings = {
        name: options[name] for name in ("full", "after_round", "calibration", "digest", "draws")
    }
    settings["given_ratings"] = options["given_ratings"]

    def digests_of(those: Sequence[Performance]) -> tuple[str, ...]:
        return tuple(ledger.performance_digest(each.player, events) for each in those)

    def look(kind: str, those: Sequence[Performance]) -> ledger.Look:
        return ledger.Look(
            time=looked_at,
            kind=kind,
            command=str(made["command"]),
            inputs=tuple(str(one.get("sha256", "")) for one in made["inputs"]),
            calibration=str(options["calibration"]),
            players=tuple(each.player for each in those),
            performances=digests_of(those),
            settings={**settings, "full": kind == "full"},
        )

    screening = "sequential" if options["after_round"] is not None else "screen"
    try:
        # A full test shows the screening of all players as well: both are looks.
        ledger.record(path, look(screening, found))
        if tested:
            ledger.record(path, look("full", tested))
    except OutputError as error:
        return f"This look could not be entered into the ledger: {error}."
    digests = digests_of(tested or found)
    told = ledger.summary(path, digests[0])
    text = (
        f"Looks taken with this store: {told.looks:,}, at {told.performances:,} performances, "
        f"{told.tests:,} tests in all"
    )
    if tested:
        text += f"; {told.looks_here} of them at this performance"
    return f"{text}."


__all__ = [
    "Check",
    "CheckPlan",
    "DeepTest",
    "FullTest",
    "check",
    "check_report_ending",
    "correlation_text",
    "look_deep_at",
    "parse_elos",
    "round_number",
    "words",
]
