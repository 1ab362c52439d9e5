"""The screening of an event as a table: one row a performance, and why some have no index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from milepost.analysis.plans import make_plan
from milepost.analysis.spreads.build import NOT_ANALYSED
from milepost.api.decisions import Decisions
from milepost.api.fairplay_result import CheckPlan
from milepost.choice.evaluation.evaluate import Prepared
from milepost.fairplay.given_ratings import RatedDecisions
from milepost.fairplay.performances import Board, Performance
from milepost.fairplay.reference.honest import HonestPlayers
from milepost.fairplay.results.mirror import mirror_p, mirror_test
from milepost.fairplay.screen import no_index, screen, screening_row
from milepost.games.rounds import round_numbers
from milepost.intrinsic.calibration.player_variation import OwnAgents, at_own_elo
from milepost.intrinsic.rating.likelihood_grid import Ladder
from milepost.intrinsic.rating.rate import own_elo
from milepost.intrinsic.rating.rate import rate as rate_groups
from milepost.tables import CHECKS


def screened(
    board: Board,
    found: Sequence[Performance],
    rated: RatedDecisions,
    read: Decisions,
    how: CheckPlan,
    ladder: Ladder | None,
    prepared: Prepared | None,
    agents: OwnAgents | None,
) -> tuple[pl.DataFrame, list[Performance], list[str]]:
    """The table, and the performances that have an index."""
    chosen = board.calibration
    own = None
    if prepared is not None and agents is not None:
        rating = own_elo(prepared.spreads, chosen)
        own = at_own_elo(prepared, chosen.map.path, rating, agents=agents)
    ipr = rate_groups(
        rated.table, chosen, ["player"], setup=read.setup, level=how.level, competence=False,
        ladder=ladder, prepared=prepared, own=own,
    )  # fmt: skip
    missing = _missing_turns(read, how.after_round)
    told_of: dict[str, list[str]] = {}
    for note in rated.notes:
        told_of.setdefault(note.player, []).append(note.text)
    mirror = mirror_test(
        board.table, chosen, board.ladder, pull=board.honest.pull, games=board.games
    )
    by_key = {row["player"]: row for row in mirror.iter_rows(named=True)}
    performance_of = {each.player: each for each in found}
    indexed, rows = [], []
    for row in ipr.iter_rows(named=True):
        key = row["player"]
        values: dict[str, Any] = {
            name: row[name] for name in ("rating", "low", "high", "player_low", "player_high")
        }
        values |= {"player": key, "turns": row["n"], "games": row["games"]}
        values["warnings"] = "; ".join([*filter(None, [row["warnings"]]), *told_of.get(key, [])])
        real = performance_of.get(key)
        if real is None:
            values["reason"] = "no rating from before the event: give one"
            rows.append(values)
            continue
        values |= {"elo": real.rating, "elo_from": rated.sources.get(key)}
        values["reason"] = no_index(len(real), missing.get(key, 0), _plan_name(read))
        if not values["reason"]:
            indexed.append(real)
            values |= screening_row(real, screen(real))
        values |= _mirror_values(by_key.get(key), board.honest)
        rows.append(values)
    known = {row["player"] for row in rows}
    rows += [
        {"player": key, "turns": 0, "games": 0, "warnings": "", "reason": reason}
        for key, reason in _without_turns(read, how.after_round, missing).items()
        if key not in known
    ]
    reasons = {str(row["reason"]) for row in by_key.values() if row.get("reason")}
    notes = [f"no test of opponents' play for some: {reason}" for reason in sorted(reasons)][:1]
    return _in_order(CHECKS.conform(_frame(rows)), how, read), indexed, notes


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    known = {name: CHECKS.dtypes[name] for name in CHECKS.names}
    full = [{name: row.get(name) for name in known} for row in rows]
    table = pl.DataFrame(full, schema=known)
    return table.with_columns(
        pl.col("elo").rank("ordinal", descending=True).cast(pl.Int64).alias("seed")
    )


def _in_order(table: pl.DataFrame, how: CheckPlan, read: Decisions) -> pl.DataFrame:
    if how.order == "index":
        return table.sort("index", descending=True, nulls_last=True, maintain_order=True)
    if how.order == "name":
        shown = pl.col("player").replace(read.names).str.to_lowercase()
        return table.sort(shown, maintain_order=True)
    return table.sort("seed", "player", nulls_last=True)


def _mirror_values(row: Mapping[str, Any] | None, honest: HonestPlayers) -> dict[str, Any]:
    if row is None or row["z"] is None:
        return {}
    known = honest.reference.mirror
    p = mirror_p(row["z"], known)[0] if len(known) else row["p"]
    return {"mirror_z": row["z"], "mirror_p": p}


def _plan_name(read: Decisions) -> str:
    """The plan behind the evaluations, as commands take it; empty = not known."""
    plan = read.plan
    if plan is None:
        return ""
    return plan.name if plan == make_plan(plan.name) else f"{plan.name} --depth {plan.depth}"


def _missing_turns(read: Decisions, last: int | None) -> dict[str, int]:
    """Turns of each player that the store does not hold."""
    out = read.left_out
    if not len(out) or not {"mover", "reason"} <= set(out.columns):
        return {}
    wanted = pl.col("reason") == NOT_ANALYSED
    if last is not None and "round" in out.columns:
        wanted &= round_numbers(pl.col("round")).fill_null(0) <= last
    counts = out.lazy().filter(wanted).group_by("mover").len().drop_nulls()
    return dict(counts.collect().iter_rows())


def _without_turns(read: Decisions, last: int | None, missing: Mapping[str, int]) -> dict[str, str]:
    """Players with turns that do not count, or are not analysed; why there is no index."""
    out = read.left_out
    if not len(out) or not {"mover", "reason"} <= set(out.columns):
        return {}
    if last is not None and "round" in out.columns:
        out = out.filter(round_numbers(pl.col("round")).fill_null(0) <= last)
    return {
        key: no_index(0, missing.get(key, 0), _plan_name(read)) or "no turn counts"
        for key in out["mover"].drop_nulls().unique(maintain_order=True)
    }
