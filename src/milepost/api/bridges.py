"""Bridges: a calibration carried over to another engine or plan, on positions that come along."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from milepost.analysis.engine.setup import readable_setup
from milepost.analysis.plans import ALL_MOVES_PLANS, Plan, make_plan, parse_plan
from milepost.analysis.spreads.build import Decisions as Built
from milepost.analysis.spreads.build import make_decisions
from milepost.analysis.store.reading import Reading, find_reading
from milepost.analysis.store.store import EvaluationStore
from milepost.api.analyses import analyse, open_store
from milepost.api.decisions import Decisions
from milepost.choice.spreads import Ints, Spreads
from milepost.errors import InputError
from milepost.games.load import read_turns
from milepost.intrinsic.calibration.bridge import SamePositions, build_bridge
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.io.progress import Report
from milepost.io.provenance import provenance

BASE = "stockfish15.1-quick"
"""The calibration that bridges usually begin at."""
POSITIONS = 1_000
"""Positions of a bridge, if nothing else is asked for; see `docs/intrinsic.md`."""
NODES_A_SECOND = 800_000
"""What Debian's Stockfish 15.1 does on one core of ours."""
NODES = {"bullet": 16_000, "quick": 350_000, "standard": 1_500_000, "reference": 3_000_000}
"""Nodes a position of the plans, about."""
_KEYS = ["game_id", "ply"]


def bridge(
    known: Calibration | str | Path,
    store: str | Path | EvaluationStore,
    plan: str | Plan = "quick",
    *,
    engine: str | None = None,
    engine_options: Mapping[str, str] | None = None,
    name: str = "bridge",
    positions: int = POSITIONS,
    workers: int = 1,
    progress: Report | None = None,
) -> Calibration:
    """Carry a calibration over to an engine of one's own, without games of rated players.

    The engine evaluates positions that come with the package; agents are sought who choose on its
    values as the known calibration's agents do on theirs. What was evaluated is kept: the same call
    goes on where it was stopped.

    Parameters
    ----------
    known
        The calibration to carry over, or its name.
    store
        The store for the engine's evaluations; made if there is none.
    plan
        The plan, one that lists all moves: bullet, quick, standard or reference.
    engine, engine_options, workers
        See `milepost.analyse`.
    name
        What to call the new calibration.
    positions
        How many positions to evaluate; what they say of Elo is exact to a few points from some
        hundreds on.
    progress
        Called after every position, then with the steps of the fit.

    Raises
    ------
    InputError
        If the plan does not list all moves, or the known calibration is of a set-up for which the
        package has no evaluated positions.
    EngineError
        If there is no engine, or it does not take its options.
    """
    chosen = make_plan(plan) if isinstance(plan, str) else plan
    if chosen.name not in ALL_MOVES_PLANS:
        raise InputError(
            f"a bridge needs a plan that lists all moves ({', '.join(ALL_MOVES_PLANS)}), not "
            f"{chosen.name}"
        )
    base = known if isinstance(known, Calibration) else load_calibration(known)
    turns = bridge_turns(base, positions)
    analysis = analyse(
        turns, store, chosen, engine=engine, engine_options=engine_options, workers=workers,
        progress=progress,
    )  # fmt: skip
    return bridge_stored(
        base, analysis.store, setup=analysis.setups[0], name=name, positions=positions,
        progress=progress,
    )  # fmt: skip


def bridge_stored(
    known: Calibration | str | Path,
    store: str | Path | EvaluationStore,
    plan: str | Plan | None = None,
    *,
    setup: str | None = None,
    name: str = "bridge",
    positions: int = POSITIONS,
    progress: Report | None = None,
) -> Calibration:
    """Carry a calibration over to a set-up whose evaluations of the bundled positions are stored.

    Parameters
    ----------
    known, name, positions, progress
        See `bridge`; positions that the store does not hold are left out.
    store, setup, plan
        Which evaluations; see `milepost.decisions`.

    Raises
    ------
    InputError
        If too few positions are there.
    """
    base = known if isinstance(known, Calibration) else load_calibration(known)
    opened = open_store(store)
    reading = find_reading(opened, setup, make_plan(plan) if isinstance(plan, str) else plan)
    turns = bridge_turns(base, positions)
    ours, there = _bundled_store(), _known_reading(base)
    same = same_positions(
        make_decisions(turns, ours, setup=there.stored, depth=there.depth),
        make_decisions(turns, opened, setup=reading.stored, depth=reading.depth),
    )
    told = {"bridge": base.name, "positions": positions, "setup": reading.details}
    return build_bridge(
        base,
        same,
        name=name,
        setup=reading.setup,
        setup_text=readable_setup(reading.details),
        same_engine=all(there.details[part] == reading.details[part] for part in ("name", "net")),
        made=provenance("calibrate", {**told, "digest": reading.setup}, []),
        progress=progress,
    )


def bridge_turns(known: Calibration | str | Path, positions: int = POSITIONS) -> pl.DataFrame:
    """Return the turns whose positions a bridge evaluates: so many, drawn by hash, of the sample's.

    The first hundred of a thousand are the hundred: a larger bridge begins with a smaller one.

    Raises
    ------
    InputError
        If the package has no evaluations of the calibration's set-up.
    """
    base = known if isinstance(known, Calibration) else load_calibration(known)
    reading = _known_reading(base)
    turns, _ = read_turns([str(_sample("games.pgn"))])
    usable = make_decisions(turns, _bundled_store(), setup=reading.stored, depth=reading.depth)
    drawn = [hashlib.sha256(fen.encode()).hexdigest() for fen in usable.table["position"]]
    chosen = (
        usable.table.select(*_KEYS, "position")
        .with_columns(pl.Series("hash", drawn))
        .unique("position", keep="first", maintain_order=True)
        .sort("hash")
        .head(positions)
    )
    return turns.join(chosen.select(_KEYS), on=_KEYS, how="semi")


def same_positions(known: Built, new: Built) -> SamePositions:
    """Return the decisions that two set-ups both have, with their options matched by move."""
    rows = (
        known.table.select(_KEYS)
        .with_row_index("known")
        .join(new.table.select(_KEYS).with_row_index("new"), on=_KEYS, how="inner")
        .sort("known")
    )
    first, second = rows["known"].to_numpy(), rows["new"].to_numpy()
    if not len(rows):
        raise InputError("no position is usable under both set-ups")
    moves = [known.moves[first].to_list(), new.moves[second].to_list()]
    alike = np.array([set(a) == set(b) for a, b in zip(*moves, strict=True)])
    tables = [known.table[first].filter(alike), new.table[second].filter(alike)]
    before, after = (Spreads.from_table(table) for table in tables)
    names = [np.array([m for row, keep in zip(each, alike, strict=True) if keep for m in row])
             for each in moves]  # fmt: skip
    return SamePositions(before, after, _match(before, after, *names))


def _match(before: Spreads, after: Spreads, known: Any, new: Any) -> Ints:
    """For each option of `after` the place of the same move in `before`."""
    decision = np.repeat(np.arange(len(before)), before.counts)
    place = [
        np.arange(len(names)) if spreads.places is None
        else np.repeat(spreads.offsets[:-1], spreads.counts) + spreads.places
        for spreads, names in ((before, known), (after, new))
    ]  # fmt: skip
    by_move = [
        np.lexsort((names[at], decision)) for names, at in zip((known, new), place, strict=True)
    ]
    answer = np.empty(len(decision), dtype=np.int64)
    answer[by_move[1]] = by_move[0]
    return answer


def bridge_table(bridged: Calibration) -> pl.DataFrame:
    """Return what a bridge says of itself, by Elo; see `compare_paths` of the calibrations."""
    return pl.DataFrame(bridged.made["bridge"]["table"])


def bridge_minutes(
    rated: Decisions, store: str | Path | EvaluationStore | None = None
) -> float | None:
    """Return about how long one core works on a bridge for the set-up of some decisions.

    Parameters
    ----------
    rated
        The decisions.
    store
        Where they are from: it tells how many nodes the engine has searched.

    Returns
    -------
    float or None
        None: there can be no bridge, since the plan is not known or does not list all moves.
    """
    plan = rated.plan
    if plan is None or plan.name not in ALL_MOVES_PLANS:
        return None
    nodes: Any = None
    if store is not None:
        stored = open_store(store).read(rated.setup)["nodes"]
        nodes = stored.mean() if len(stored) else None
    return POSITIONS * float(nodes or NODES[plan.name]) / NODES_A_SECOND / 60


def _known_reading(known: Calibration) -> Reading:
    """How the bundled positions are read under a calibration's set-up."""
    plan = parse_plan(known.setup_text.rsplit(", ", 1)[-1])
    if plan is not None and make_plan("quick").holds(plan):
        reading = find_reading(_bundled_store(), None, plan)
        if reading.setup == known.setup:
            return reading
    raise InputError(
        f"the positions that come with the package are not evaluated under the set-up of "
        f"{known.name} ({known.setup_text}): bridges begin at stockfish15.1-quick or "
        "stockfish15.1-bullet"
    )


def _sample(name: str) -> Path:
    return Path(str(resources.files("milepost.data") / "sample" / name))


def _bundled_store() -> EvaluationStore:
    return EvaluationStore(_sample("evaluations"))
