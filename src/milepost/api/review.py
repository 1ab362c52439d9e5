"""The review: what a player or coach asks of some games, in one job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import polars as pl

from milepost.api.decisions import Decisions, TurnRules, decisions
from milepost.api.ratings import LEVEL, find_calibration
from milepost.api.review_comments import review_comments
from milepost.api.review_result import Review
from milepost.api.review_tables import (
    game_rows,
    group_rows,
    pool_levels,
    pool_rows,
    review_notes,
    trap_rows,
    trend_rows,
    with_costs,
    with_pool,
)
from milepost.api.second_look import SecondLook, look_again
from milepost.errors import InputError, NotAnalysedError
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.review.baselines import phase_baselines, shipped_pools
from milepost.intrinsic.review.groups import (
    OPPONENTS,
    PHASES,
    Beside,
    opponents_expr,
)
from milepost.intrinsic.review.levels import pool_level
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import Inputs
from milepost.report.pages import check_page_ending
from milepost.report.review.page import trap_sentence
from milepost.tables import (
    REVIEW_TURNS,
)

EVERY_TURN = TurnRules(limit_pawns=inf)
"""Decided positions are kept: they are not rated, but a win thrown away there is a cost."""

__all__ = [
    "EVERY_TURN",
    "Review",
    "ReviewPlan",
    "SecondLook",
    "check_page_ending",
    "game_turns",
    "review",
    "trap_sentence",
]


@dataclass(frozen=True)
class ReviewPlan:
    """How games are reviewed; see `milepost.review`."""

    equals: float = 100.0
    """Opponents within so many points are equals."""
    most: int = 10
    """How many of the costliest turns to list."""
    level: float = LEVEL
    """Probability of the intervals."""
    search: str | None = None
    """Only evaluations of this search plan, where the store holds several."""
    setup: str | None = None
    """Digest of the set-up, where the store holds several."""
    look: SecondLook | None = None
    """The second look at the costly turns [default: what the store holds of it, no engine]."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not self.equals >= 0:
            raise InputError(f"equals are opponents within so many points, got {self.equals}")
        if self.most < 1:
            raise InputError(f"at least one turn is to be listed, got {self.most}")
        if not 0 < self.level < 1:
            raise InputError(f"the probability of intervals lies between 0 and 1, got {self.level}")


def review(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    player: str,
    elo: float | None = None,
    calibration: Calibration | str | Path | None = None,
    plan: ReviewPlan | None = None,
    workers: int = 1,
    progress: Report | None = None,
) -> Review:
    """Review one player's games: rating, phases, costly turns, games, trend and traps.

    Parameters
    ----------
    inputs, store
        Games whose turns are in a store, or decisions (best made with `EVERY_TURN`, so that decided
        positions count as costs); see `milepost.decisions`. Without a store, the ``%eval`` comments
        of the games are used, as far as they go.
    player
        Whose: a key, a name or a part of one.
    elo
        The player's Elo over the board, where the tags do not say it: the list that they are of is
        then brought to the Elo scale by it.
    calibration
        See `milepost.rate`; one for another set-up is refused.
    plan
        Who is an equal, how many turns to list, whether an engine looks at them again …
    workers, progress
        See `milepost.rate`.

    Raises
    ------
    InputError
        If the name means nobody or several players, or nothing is there to review.
    """
    how = plan or ReviewPlan()
    if not isinstance(inputs, Decisions) and store is None:
        return review_comments(
            inputs, player=player, equals=how.equals, most=how.most, level=how.level,
            workers=workers, progress=progress,
        )  # fmt: skip
    whole = decisions(
        inputs, store, setup=how.setup, plan=how.search, rules=EVERY_TURN, workers=workers,
        progress=progress,
    )  # fmt: skip
    equals, most, level = how.equals, how.most, how.level
    mine = whole.of_players([player])
    if not len(mine):
        raise InputError(f"no turn of {player} is analysed")
    key = str(mine.table["mover"][0])
    chosen = find_calibration(calibration, whole)
    chosen.refuse_other(whole.setup)
    whole = replace(whole, table=with_pool(whole.table))
    games = whole.table.filter(pl.col("mover") == key)["game_id"].unique()
    whole = whole.filter(pl.col("game_id").is_in(games.implode()))
    mine = whole.filter(pl.col("mover") == key)
    pools, ratings = pool_levels(whole, key, chosen, level, elo)
    baselines = phase_baselines(chosen)
    everything = with_costs(whole, pools, chosen, baselines)
    own = everything.filter(pl.col("mover") == key)
    beside = Beside(own, chosen, baselines)
    turns = REVIEW_TURNS.conform(own).select(REVIEW_TURNS.names)
    trends, changes = trend_rows(beside, ratings, level)
    at = own["level"].to_numpy() + baselines.of_turns(own["phase"])
    look = how.look
    if look is None and isinstance(store, str | Path):
        look = SecondLook.beside(store)
    looked = look_again(mine, own, at, chosen, look, most=most, workers=workers, progress=progress)
    traps, trap_sums = trap_rows(mine, own, chosen, baselines)
    told = {"player": key, "calibration": chosen.name, "equals": equals, "level": level}
    told |= {"most": most, "elo": elo, "digest": whole.setup, "setup": dict(whole.setup_details)}
    return Review(
        player=key,
        name=whole.names.get(key, key),
        summary=pool_rows(beside, ratings, pools, whole.left_out, key),
        phases=group_rows(beside, "phase", pl.col("phase"), PHASES, whole.left_out, key, level),
        opponents=group_rows(
            beside, "opponents", opponents_expr(equals), OPPONENTS, pl.DataFrame(), key, level
        ),
        costly=looked.costly,
        games=game_rows(everything, whole, key, chosen),
        trend=trends,
        changes=changes,
        traps=traps,
        trap_sums=trap_sums,
        turns=turns,
        level=level,
        equals=equals,
        notes=tuple(
            dict.fromkeys([looked.note, *review_notes(whole, own, key, chosen, pools, baselines)])
        ),
        costly_note=looked.note,
        calibration=chosen,
        beside=beside,
        made=provenance("review", told, [dict(each) for each in whole.inputs]),
    )


def game_turns(
    inputs: Inputs | Decisions | Any,
    store: str | Path | None = None,
    *,
    game: str | None = None,
    calibration: Calibration | str | Path | None = None,
    plan: ReviewPlan | None = None,
    workers: int = 1,
    progress: Report | None = None,
) -> pl.DataFrame:
    """Return the turns of one game: what each cost, how likely it was, how hard to choose.

    Parameters
    ----------
    inputs, store, calibration, plan, workers, progress
        See `review`.
    game
        The game's id, or its beginning [default: the only one].

    Returns
    -------
    polars.DataFrame
        One row an analysed turn of either side, by `ply`; see `milepost.tables.REVIEW_TURNS`.
        `agent_elo` is null, and with it what equals do, where a player has no rating.

    Raises
    ------
    InputError
        If no game, or several, begin so; `NotAnalysedError` if there is no evaluated turn at all.
    """
    how = plan or ReviewPlan()
    whole = decisions(
        inputs, store, setup=how.setup, plan=how.search, rules=EVERY_TURN, workers=workers,
        progress=progress,
    )  # fmt: skip
    ids = whole.table["game_id"].unique(maintain_order=True).to_list()
    hits = [each for each in ids if game is None or each.startswith(game)]
    if not ids:
        raise NotAnalysedError("no turn of these games is a choice that was evaluated")
    if len(hits) != 1:
        named = "several games are here" if game is None else f"{len(hits)} games are {game}"
        raise InputError(f"{named}: name one of {', '.join(ids[:5])}{' …' if len(ids) > 5 else ''}")
    chosen = find_calibration(calibration, whole)
    chosen.refuse_other(whole.setup)
    one = whole.filter(pl.col("game_id") == hits[0])
    one = replace(one, table=with_pool(one.table))
    tags = one.table.group_by("pool").agg(pl.col("mover_elo").cast(pl.Float64).mean())
    shipped = shipped_pools()
    pools = {pool: pool_level(pool, shipped, None, rating=mean) for pool, mean in tags.rows()}
    table = with_costs(one, pools, chosen, phase_baselines(chosen)).sort("ply")
    return REVIEW_TURNS.conform(table).select(REVIEW_TURNS.names)
