"""The tables of a review, each from the turns that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from milepost.analysis.spreads.build import NOT_ANALYSED
from milepost.api.decisions import Decisions, TurnRules, score_doubts_told
from milepost.choice.spreads import Spreads
from milepost.errors import InputError
from milepost.fairplay.reference.honest import honest_players
from milepost.fairplay.results.luck import play_by_game
from milepost.games.pools import is_elo, pool_of_turns
from milepost.games.turns.notation import link_to, san_of
from milepost.intrinsic.calibration.calibration import Calibration
from milepost.intrinsic.rating.likelihood_grid import climb
from milepost.intrinsic.rating.rate import rate as rate_groups
from milepost.intrinsic.review.baselines import PhaseBaselines, shipped_pools
from milepost.intrinsic.review.groups import (
    OPPONENTS,
    PHASES,
    Beside,
    level_column,
)
from milepost.intrinsic.review.levels import PoolLevel, learn_shift, levels_of, pool_level
from milepost.intrinsic.review.shifts import UNKNOWN, Shift
from milepost.intrinsic.review.traps import find_traps, sum_up_traps
from milepost.intrinsic.review.trend import Change, trend, years
from milepost.intrinsic.review.turn_costs import turn_costs
from milepost.intrinsic.review.words import game_words
from milepost.tables import (
    REVIEW_GAMES,
    REVIEW_GROUPS,
    REVIEW_POOLS,
    REVIEW_TRAPS,
    Table,
)


def with_pool(table: pl.DataFrame) -> pl.DataFrame:
    """Turns with their pool, and whether they are decided."""
    for name in ("site", "speed", "date"):
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    limit = TurnRules().limit_pawns
    return table.with_columns(
        pool_of_turns(), (pl.col("values").list.first().abs() > limit).alias("decided")
    )


def pool_levels(
    whole: Decisions, key: str, chosen: Calibration, level: float, elo: float | None
) -> tuple[dict[str, PoolLevel], dict[str, dict[str, Any]]]:
    """How ratings of each pool become Elos; and the player's rating in each."""
    shipped = shipped_pools()
    mine = whole.table.filter(pl.col("mover") == key)
    ratings: dict[str, dict[str, Any]] = {}
    pools: dict[str, PoolLevel] = {}
    for pool in mine["pool"].unique(maintain_order=True):
        part = mine.filter(pl.col("pool") == pool, ~pl.col("decided"))
        row: dict[str, Any] = {"rating": None}
        if len(part):
            row = rate_groups(
                part.drop("pool", "decided"), chosen, [], setup=whole.setup, level=level,
                competence=False,
            ).row(0, named=True)  # fmt: skip
        ratings[pool] = row
        others = whole.table.filter(pl.col("pool") == pool, pl.col("mover") != key)
        learned = None if is_elo(pool) else learn_shift(others, chosen)
        middle = float(np.mean(chosen.range))
        fallback = (middle, float("nan")) if row["rating"] is None else (row["rating"], row["se"])
        tags = mine.filter(pl.col("pool") == pool)["mover_elo"].cast(pl.Float64).mean()
        rating = tags if isinstance(tags, float) else None
        if elo is None:
            pools[pool] = pool_level(pool, shipped, learned, rating=rating, fallback=fallback)
        else:
            # A known Elo tells how this list lies to the Elo scale, for the opponents too.
            known = UNKNOWN if rating is None else Shift(elo - rating, 0.0)
            pools[pool] = PoolLevel(pool, known, "the Elo given", elo, 0.0)
    return pools, ratings


def with_costs(
    whole: Decisions,
    pools: Mapping[str, PoolLevel],
    chosen: Calibration,
    baselines: PhaseBaselines,
) -> pl.DataFrame:
    """All turns with their level, costs, moves in SAN, and the address of the position."""
    levels, errors, own_turns = levels_of(whole.table, pools)
    table = level_column(whole.table, levels, errors).with_columns(own_turns)
    middle = float(np.mean(chosen.range))
    known = np.isfinite(levels)
    at = np.where(known, levels, middle) + baselines.of_turns(table["phase"])
    costs = turn_costs(table, chosen, at, points_a_pawn=baselines.points_a_pawn).table
    beside_equals = ["agent_elo", "expected_loss", "points_expected", "points_sd", "chance",
                     "best_chance", "better_chance", "entropy", "cost"]  # fmt: skip
    unknown = pl.Series("unknown", ~known)
    costs = costs.with_columns(
        pl.when(unknown).then(None).otherwise(pl.col(name)).alias(name) for name in beside_equals
    )
    table = table.drop("decided").hstack(costs.drop("options"))
    moves = whole.moves
    first = [None] * len(table) if moves is None else moves.list.first().to_list()
    rows = table.select("position", "played", "site", "ply").rows()
    sans = [
        (san_of(fen, played), san_of(fen, best), link_to(site, ply))
        for (fen, played, site, ply), best in zip(rows, first, strict=True)
    ]
    return table.with_columns(
        pl.Series("best", first, dtype=pl.String),
        pl.Series("san", [each[0] for each in sans], dtype=pl.String),
        pl.Series("best_san", [each[1] for each in sans], dtype=pl.String),
        pl.Series("link", [each[2] for each in sans], dtype=pl.String),
        (costs["value"] - costs["loss"]).alias("value_after"),
        pl.Series("options", whole.table["values"].list.len()),
    )


def group_rows(
    beside: Beside,
    name: str,
    label: pl.Expr,
    order: Iterable[str],
    left_out: pl.DataFrame,
    key: str,
    level: float,
) -> pl.DataFrame:
    """One row a group, in a fixed order; a group without turns to rate says so."""
    labels = beside.table.select(label.alias("label"))["label"]
    rows = []
    for group in order:
        wanted = (labels == group).fill_null(False).to_numpy()
        row = beside.row(wanted, level=level) | {"group": group}
        # Decisions made with the usual limit have their decided turns among those left out.
        over = _left_out(left_out, key, "over the limit")
        if name == "phase" and len(over):
            more = len(over.filter(pl.col("phase") == group))
            row["decided"] = row["decided"] + more
            if not row["turns"] and more:
                row["note"] = f"{row['decided']} turns, all in decided positions: not rated"
        rows.append(row)
    return conform_rows(rows, REVIEW_GROUPS).rename({"group": name})


def _left_out(left_out: pl.DataFrame, key: str, reason: str) -> pl.DataFrame:
    if not len(left_out) or not {"mover", "reason"} <= set(left_out.columns):
        return pl.DataFrame()
    return left_out.filter(pl.col("mover") == key, pl.col("reason") == reason)


def pool_rows(
    beside: Beside,
    ratings: Mapping[str, dict[str, Any]],
    pools: Mapping[str, PoolLevel],
    left_out: pl.DataFrame,
    key: str,
) -> pl.DataFrame:
    """One row a pool, the one with most turns first."""
    rows = []
    over = _left_out(left_out, key, "over the limit")
    missing = _left_out(left_out, key, NOT_ANALYSED)
    for pool, rating in ratings.items():
        part = beside.table.filter(pl.col("pool") == pool)
        games = part.group_by("game_id").agg(pl.col("score").first())
        shift = pools[pool].shift
        row: dict[str, Any] = {
            "pool": pool,
            "games": len(games),
            "turns": int((~part["decided"]).sum()),
            "decided": int(part["decided"].sum()) + _of_pool(over, pool),
            "missing": _of_pool(missing, pool),
            "score": games["score"].sum() if games["score"].is_not_null().any() else None,
            "own_rating": part["mover_elo"].cast(pl.Float64).mean(),
            "level_from": pools[pool].source,
            "warnings": rating.get("warnings") or "",
        }
        row |= {
            name: rating.get(name)
            for name in ("rating", "low", "high", "player_low", "player_high", "se", "se_player")
        }
        if not is_elo(pool) and shift.known:
            row |= {"shift": shift.value, "shift_se": shift.se}
            if rating["rating"] is not None:
                row |= _in_the_pool(rating, shift.value, shift.se)
        rows.append(row)
    frame = conform_rows(rows, REVIEW_POOLS)
    return frame.sort("turns", descending=True, maintain_order=True)


def _in_the_pool(rating: Mapping[str, Any], shift: float, se: float) -> dict[str, float | None]:
    """The rating on the pool's own scale: less what its moves read above its ratings."""
    value = rating["rating"] - shift
    ends: dict[str, float | None] = {}
    for name in ("low", "high"):
        end = rating[name]
        ends[f"pool_{name}"] = None
        if end is not None:
            half = float(np.hypot(rating["rating"] - end, 1.96 * se))
            ends[f"pool_{name}"] = value + (half if name == "high" else -half)
    return {"pool_rating": value, **ends}


def _of_pool(turns: pl.DataFrame, pool: str) -> int:
    if not len(turns):
        return 0
    for name in ("site", "speed"):
        if name not in turns.columns:
            turns = turns.with_columns(pl.lit(None, dtype=pl.String).alias(name))
    return len(turns.filter(pool_of_turns() == pool))


def game_rows(
    everything: pl.DataFrame, whole: Decisions, key: str, chosen: Calibration
) -> pl.DataFrame:
    """One row a game of the player: own play and the opponent's, each beside its Elo."""
    levels = everything.select("game_id", "mover", "level").unique(["game_id", "mover"])
    theirs = levels.rename({"mover": "opponent", "level": "opponent_level"})
    table = everything.filter(~pl.col("decided")).join(
        theirs, on=["game_id", "opponent"], how="left", maintain_order="left"
    )
    # On one scale: levels; an opponent whose turns are not analysed is put there alike.
    ahead = pl.col("opponent_elo").cast(pl.Float64) - pl.col("mover_elo").cast(pl.Float64)
    table = table.with_columns(
        pl.coalesce("opponent_level", pl.col("level") + ahead).alias("opponent_elo"),
        pl.col("level").alias("mover_elo"),
    )
    own = everything.filter(pl.col("mover") == key)
    facts = own.group_by("game_id", maintain_order=True).agg(
        pl.col("date", "pool", "opponent", "opponent_name", "colour", "score", "opponent_elo",
               "site").first(),
        pl.col("mover_elo").first().alias("own_elo"),
        pl.len().alias("turns"),
        pl.col("points_lost", "points_expected", "cost").sum(),
    )  # fmt: skip
    spreads = Spreads.from_table(table)
    ladder = climb(spreads, chosen.map.path)
    plays = play_by_game(table, chosen, ladder, play_sd=honest_players(chosen).play_sd)
    mine = plays.filter(pl.col("player") == key).select(
        "game_id", "expected", pl.col("play").alias("own_play"),
        pl.col("play_se").alias("own_play_se"), pl.col("points").alias("own_points"),
        pl.col("points_se").alias("own_points_se"),
    )  # fmt: skip
    other = plays.filter(pl.col("player") != key).select(
        "game_id", pl.col("turns").alias("opponent_turns"),
        pl.col("play").alias("opponent_play"), pl.col("play_se").alias("opponent_play_se"),
        (-pl.col("points")).alias("opponent_points"),
        pl.col("points_se").alias("opponent_points_se"),
    )  # fmt: skip
    joined = facts.join(mine, on="game_id", how="left", maintain_order="left").join(
        other, on="game_id", how="left", maintain_order="left"
    )
    words = [game_words(row) for row in joined.iter_rows(named=True)]
    links = [link_to(site, None) for site in joined["site"]]
    joined = joined.with_columns(
        pl.Series("words", words, dtype=pl.String), pl.Series("link", links, dtype=pl.String)
    )
    order = joined.with_row_index("place").sort("date", "place", nulls_last=True)
    return REVIEW_GAMES.conform(order.drop("place")).select(REVIEW_GAMES.names)


def trend_rows(
    beside: Beside, ratings: Mapping[str, dict[str, Any]], level: float
) -> tuple[pl.DataFrame, dict[str, Change]]:
    """The level through time, pool by pool: ratings of pools are never joined to one line."""
    rated = beside.table.filter(beside.rated)
    parts, changes = [], {}
    for pool, row in ratings.items():
        inside = ((rated["pool"] == pool) & years(rated["date"]).is_not_null()).to_numpy()
        here = rated.filter(inside)
        if row["rating"] is None or here["game_id"].n_unique() < 3:
            continue
        ladder = beside.plain.take(inside)
        by_game = pl.DataFrame(
            {
                "game_id": here["game_id"],
                "date": here["date"],
                "time": years(here["date"]),
                "u": ladder.weights * ladder.scores(row["rating"]),
                "i": ladder.weights * ladder.information_at(row["rating"]),
            }
        ).group_by("game_id", maintain_order=True).agg(
            pl.col("date", "time").first(), pl.col("u", "i").sum()
        )  # fmt: skip
        if by_game["time"].n_unique() < 2:
            continue
        variation = beside.calibration.variation
        found = trend(
            by_game["time"], by_game["u"], by_game["i"], row["rating"],
            variation.game_dispersion.value, game_sd=variation.game_sd.used, level=level,
        )  # fmt: skip
        days = by_game.group_by("time").agg(pl.col("date").first()).sort("time")
        table = found.table.sort("time").join_asof(days, on="time", strategy="nearest")
        parts.append(table.with_columns(pl.lit(pool).alias("pool")))
        changes[pool] = found.change
    columns = {"pool": pl.String, "date": pl.String, "time": pl.Float64, "mean": pl.Float64,
               "low": pl.Float64, "high": pl.Float64}  # fmt: skip
    if not parts:
        return pl.DataFrame(schema=columns), changes
    return pl.concat(parts).select(list(columns)), changes


def trap_rows(
    mine: Decisions, own: pl.DataFrame, chosen: Calibration, baselines: PhaseBaselines
) -> tuple[pl.DataFrame, dict[str, float | int | None]]:
    """Traps among the player's turns that are not decided."""
    at = own["level"].to_numpy() + baselines.of_turns(own["phase"])
    costs = turn_costs(mine.table, chosen, at, points_a_pawn=baselines.points_a_pawn)
    found = find_traps(costs, correction=baselines.traps)
    found = found.filter(~pl.col("row").is_in(np.flatnonzero(own["decided"]).tolist()))
    rows = own[found["row"].to_list()] if len(found) else own.clear()
    names = []
    if mine.moves is not None:
        moves = mine.moves.to_list()
        pairs = found.select("row", "option").rows()
        names = [san_of(own["position"][row], moves[row][option]) for row, option in pairs]
    table = rows.hstack(found.drop("row", "option", "shallow")).with_columns(
        pl.Series("trap", names or [None] * len(rows), dtype=pl.String)
    )
    return REVIEW_TRAPS.conform(table).select(REVIEW_TRAPS.names), sum_up_traps(found)


def review_notes(
    whole: Decisions,
    own: pl.DataFrame,
    key: str,
    chosen: Calibration,
    pools: Mapping[str, PoolLevel],
    baselines: PhaseBaselines,
) -> Iterable[str]:
    if len(pools) > 1:
        yield (
            f"games of {len(pools)} pools ({', '.join(pools)}): each is rated on its own; other "
            "tables compare every turn with equals of its own pool"
        )
    for pool, level in pools.items():
        if not is_elo(pool):
            yield _pool_note(pool, level)
    if own["own_turns"].any():
        yield (
            f"for {int(own['own_turns'].sum()):,} turns no rating on the Elo scale is known: they "
            "are compared with players who play as well as these turns on the whole"
        )
    low, high = chosen.range
    if not own["level"].is_between(low, high).all():
        yield f"some equals lie outside the calibrated {low:.0f} to {high:.0f}: less is known there"
    if baselines.shifts:
        told = ", ".join(
            f"{name} {shift.value:+.0f} ± {shift.se:.0f}"
            for name, shift in baselines.shifts.items()
        )
        yield f"phases are read with baselines ({told} Elo; {baselines.source})"
    else:
        yield f"no baselines of phases come with {chosen.name}: phases may read high or low as such"
    missing = len(_left_out(whole.left_out, key, NOT_ANALYSED))
    if missing:
        yield f"{missing:,} turns of the player are not analysed, and so not here"
    if not len(whole.table.filter(pl.col("mover") != key)):
        yield "opponents' moves are not analysed: games say nothing of the opponents' play"
    doubts = score_doubts_told(own)
    if doubts:
        yield doubts
    yield from chosen.notes


def _pool_note(pool: str, level: PoolLevel) -> str:
    shift = level.shift
    if not shift.known:
        return (
            f"{pool}: how its ratings lie to the Elo scale is not known, so the ratings in the "
            "tags are not used"
        )
    return (
        f"{pool}: ratings there lie {abs(shift.value):.0f} ± {1.96 * shift.se:.0f} points "
        f"{'above' if shift.value < 0 else 'below'} what the moves show on the Elo scale (by "
        f"{level.source})"
    )


def group_expression(text: str, table: pl.DataFrame) -> pl.Expr:
    """What a group is called, as an expression."""
    name, equals, value = text.partition("=")
    if equals and name.strip() in table.columns:
        return pl.col(name.strip()).cast(pl.String) == value.strip()
    for column in ("phase", "colour", "opponents", "result", "pool", "speed"):
        if text in table[column].drop_nulls().unique().to_list():
            return pl.col(column) == text
    known = {*PHASES, *OPPONENTS, "white", "black", "win", "draw", "loss"}
    if text in known:
        return pl.col("ply") < 0  # a group that these turns have none of
    raise InputError(
        f"no group {text!r}: name a phase, a colour, stronger, equals or weaker, win, draw or "
        "loss, a pool, or column=value"
    )


def result_words() -> pl.Expr:
    return (
        pl.col("score")
        .cast(pl.Float64)
        .replace_strict({1.0: "win", 0.5: "draw", 0.0: "loss"}, default=None,
                        return_dtype=pl.String)
    )  # fmt: skip


def conform_rows(rows: list[dict[str, Any]], table: Table) -> pl.DataFrame:
    """Return rows of figures as a table of ours; what a row does not say is null."""
    return pl.DataFrame(
        [{name: row.get(name) for name in table.names} for row in rows],
        schema={name: table.dtypes[name] for name in table.names},
    )
