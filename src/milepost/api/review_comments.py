"""The review of games with ``%eval`` comments and no engine: what can be said of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from milepost.api.review_result import Review
from milepost.api.review_tables import conform_rows
from milepost.errors import InputError
from milepost.games.load import read_turns
from milepost.games.players.find import PlayerFinder
from milepost.games.pools import pool_of_turns
from milepost.games.turns.notation import link_to, san_of
from milepost.intrinsic.review.comments import beside_equals, comment_losses, compare_losses
from milepost.intrinsic.review.groups import OPPONENTS, PHASES, opponents_expr
from milepost.io.progress import Report
from milepost.io.provenance import provenance
from milepost.io.sources import find_sources
from milepost.tables import (
    REVIEW_COSTLY,
    REVIEW_GAMES,
    REVIEW_GROUPS,
    REVIEW_POOLS,
    REVIEW_TRAPS,
    REVIEW_TURNS,
    as_frame,
    is_frame,
)

NOT_SAID = (
    "there are %eval comments, but no evaluations of the other moves: no rating (there is no "
    "calibration for such comments), no better moves, no trend and no traps; a store of "
    "evaluations adds them"
)


def review_comments(
    inputs: Any,
    *,
    player: str,
    equals: float,
    most: int,
    level: float,
    workers: int = 1,
    progress: Report | None = None,
) -> Review:
    """Review a player's games by their ``%eval`` comments; see `milepost.review`.

    Raises
    ------
    InputError
        If no game has such comments, or the name means nobody or several players.
    """
    digests: list[dict[str, Any]] = []
    if is_frame(inputs):
        turns = as_frame(inputs)
    else:
        sources = find_sources(inputs)
        turns, _ = read_turns(sources, workers=workers, progress=progress)
        digests = sources.about()
    finder = PlayerFinder(
        turns.group_by("mover").agg(
            pl.col("mover_name").drop_nulls().first().alias("name"),
            pl.col("game_id").n_unique().cast(pl.Int64).alias("games"),
        ).rename({"mover": "key"})
    )  # fmt: skip
    key = finder.find(player).key
    games = turns.filter(pl.col("mover") == key)["game_id"].unique()
    turns = turns.filter(pl.col("game_id").is_in(games.implode())).with_columns(pool_of_turns())
    losses = comment_losses(turns)
    own = losses.filter(pl.col("mover") == key)
    if not len(own):
        raise InputError(
            "these games have neither a store of evaluations nor %eval comments: let an engine "
            "analyse them (milepost.analyse)"
        )
    others = losses.filter(pl.col("mover") != key)
    near = others.filter(opponents_expr(equals) == "equals")
    who = near if len(near) >= 100 else others
    # Each pool for itself: opponents elsewhere are no equals here.
    parts = [
        beside_equals(part, who.filter(pl.col("pool") == pool))
        for (pool,), part in own.group_by(["pool"], maintain_order=True)
    ]
    own = _told(pl.concat(parts))
    turns_table = REVIEW_TURNS.conform(own).select(REVIEW_TURNS.names)
    name = own["mover_name"].drop_nulls()
    told = {"player": key, "equals": equals, "most": most, "evaluations": "%eval comments"}
    return Review(
        player=key,
        name=str(name[0]) if len(name) else key,
        summary=_pools(own, turns, key),
        phases=_groups(own, who, "phase", pl.col("phase"), PHASES),
        opponents=_groups(own, who, "opponents", opponents_expr(equals), OPPONENTS),
        costly=REVIEW_COSTLY.conform(
            turns_table.sort("cost", descending=True, nulls_last=True).head(most)
        ),
        games=_games(own, others),
        trend=pl.DataFrame(schema=_TREND),
        changes={},
        traps=conform_rows([], REVIEW_TRAPS),
        trap_sums={"traps": 0, "fell": 0, "expected": None, "sd": None, "p": None},
        turns=turns_table,
        level=level,
        equals=equals,
        notes=tuple(_notes(own, near, who, equals)),
        made=provenance("review", told, digests),
    )


_TREND = {
    "pool": pl.String, "date": pl.String, "time": pl.Float64, "mean": pl.Float64,
    "low": pl.Float64, "high": pl.Float64,
}  # fmt: skip


def _told(own: pl.DataFrame) -> pl.DataFrame:
    rows = own.select("position", "played", "site", "ply").rows()
    return own.with_columns(
        pl.Series("san", [san_of(fen, move) for fen, move, _, _ in rows], dtype=pl.String),
        pl.Series("link", [link_to(site, ply) for _, _, site, ply in rows], dtype=pl.String),
        pl.lit("").alias("best_san"),
    )


def _notes(
    own: pl.DataFrame, near: pl.DataFrame, who: pl.DataFrame, equals: float
) -> Iterable[str]:
    yield NOT_SAID
    pools = own["pool"].unique(maintain_order=True).to_list()
    if len(pools) > 1:
        yield f"games of {len(pools)} pools ({', '.join(pools)}): equals are those of the same pool"
    if who is near:
        yield (
            f"equals are the opponents within {equals:.0f} points in these games: "
            f"{len(near):,} turns"
        )
    else:
        yield (
            f"only {len(near):,} turns are of opponents within {equals:.0f} points: compared with "
            f"all opponents, {len(who):,} turns"
        )


def _pools(own: pl.DataFrame, turns: pl.DataFrame, key: str) -> pl.DataFrame:
    rows = []
    for (pool,), part in own.group_by(["pool"], maintain_order=True):
        games = part.group_by("game_id").agg(pl.col("score").first())
        mine = turns.filter(pl.col("mover") == key, pl.col("pool") == pool)
        rows.append(
            {
                "pool": pool,
                "games": len(games),
                "turns": int((~part["decided"]).sum()),
                "decided": int(part["decided"].sum()),
                "missing": len(mine.filter(~pl.col("book"))) - len(part),
                "score": games["score"].sum() if games["score"].is_not_null().any() else None,
                "own_rating": part["mover_elo"].cast(pl.Float64).mean(),
                "level_from": "opponents in these games",
                "warnings": "no rating: %eval comments have no calibration",
            }
        )
    return conform_rows(rows, REVIEW_POOLS)


def _groups(
    own: pl.DataFrame, who: pl.DataFrame, name: str, label: pl.Expr, order: Iterable[str]
) -> pl.DataFrame:
    rows = []
    labelled = own.with_columns(label.alias("label"))
    for group in order:
        part = labelled.filter(pl.col("label") == group)
        rows.append(compare_losses(part, who) | {"group": group})
    return conform_rows(rows, REVIEW_GROUPS).rename({"group": name})


def _games(own: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    facts = own.group_by("game_id", maintain_order=True).agg(
        pl.col("date", "pool", "opponent", "opponent_name", "colour", "score", "opponent_elo",
               "site").first(),
        pl.col("mover_elo").first().alias("own_elo"),
        pl.len().alias("turns"),
        pl.col("points_lost", "points_expected", "cost").sum(),
    )  # fmt: skip
    counts = others.group_by("game_id").agg(pl.len().alias("opponent_turns"))
    joined = facts.join(counts, on="game_id", how="left", maintain_order="left").with_columns(
        pl.Series("link", [link_to(site, None) for site in facts["site"]], dtype=pl.String),
        pl.lit("").alias("words"),
    )
    return REVIEW_GAMES.conform(joined).select(REVIEW_GAMES.names).sort("date", nulls_last=True)
