"""Does a deeper search tell strong engines from the strongest players?

    python -m studies.fair_play_depths --honest GAMES... --engines GAMES... --store DIR -o FIGURES

A sample of turns of each engine, and of the honest players of each file, is searched to one depth
(`--depth`), and so is the move that was played. Two figures a turn: whether the deep search's move
was played, and how many pawns the played move loses by that search. Engines' games have other
positions than people's, so turns are compared within cells: how much the judge (all moves to depth
6) says one side is ahead, and how far its second move lies behind its first. Each engine is given
the honest turns' shares of the cells. Figures are written as JSON, without names of people.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import milepost as mp
from milepost.analysis.store.positions import stored_positions
from milepost.choice.spreads import Floats
from milepost.games.load import read_turns
from milepost.io.files import write_text

FIRST_MOVE, LAST_MOVE = 9, 60
"""Longer games are engines' alone."""
AHEAD = (0.5, 1.5)
GAP = (0.1, 0.4)
"""Where the cells part, in pawns."""
MOST_AHEAD = 3.0
MOST_LOSS = 3.0
"""Losses of more pawns count as this."""
HONEST = "honest players"


def sample(
    games: Path, by: str | None, count: int, seed: int
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield a sample of turns of each mover, or of all movers of a file together."""
    turns, _ = read_turns([games])
    turns = turns.filter(
        pl.col("move_number").is_between(FIRST_MOVE, LAST_MOVE) & ~pl.col("repetition")
    )
    groups = [(HONEST, turns)] if by is None else turns.sort(by).group_by(by, maintain_order=True)
    for name, part in groups:
        label = name if isinstance(name, str) else str(name[0])
        yield label, part.sample(min(count, len(part)), seed=seed, shuffle=True)


def searched(turns: pl.DataFrame, store: Path, plan: mp.Plan) -> list[Mapping[str, float]]:
    """Return the values of all moves that a plan looked at, in pawns, for each turn."""
    mp.analyse(
        turns.select("game_id", "ply", "position", "played", "mover"), store, plan, every_turn=True
    )
    opened = mp.open_store(store)
    (setup,) = [key for key, about in opened.known_setups().items() if about["plan"] == plan.text]
    keys = stored_positions(turns["position"])
    found = opened.read(setup, positions=keys)
    known: dict[tuple[str, str | None], dict[str, float]] = {}
    for position, played, moves, cp, mate in found.select(
        "position", "played", "moves", "cp", "mate"
    ).iter_rows():
        # A row a depth: the last one is that of the whole search.
        known[position, played] = {
            move: _pawns(value, mate_in)
            for move, value, mate_in in zip(moves, cp[-1], mate[-1], strict=True)
        }
    played = turns["played"].to_list() if plan.needs_played else [None] * len(turns)
    return [known.get(key, {}) for key in zip(keys, played, strict=True)]


def _pawns(cp: int | None, mate: int | None) -> float:
    if mate is not None:
        return 100.0 if mate > 0 else -100.0
    return np.nan if cp is None else cp / 100


def measure(turns: pl.DataFrame, store: Path, depth: int) -> pl.DataFrame:
    """Return one row a turn that counts: `cell`, `hit`, `loss`."""
    shallow = searched(turns, store, mp.make_plan("bullet"))
    wanted, cells = [], []
    for number, values in enumerate(shallow):
        best = sorted(values.values(), reverse=True)
        if len(best) > 1 and abs(best[0]) <= MOST_AHEAD:
            wanted.append(number)
            ahead, gap = np.searchsorted(AHEAD, abs(best[0])), best[0] - best[1]
            cells.append(int(3 * ahead + np.searchsorted(GAP, gap)))
    kept = turns[wanted]
    rows = []
    deep = searched(kept, store, mp.make_plan("single", depth=depth))
    for cell, played, values in zip(cells, kept["played"], deep, strict=True):
        if played in values and np.isfinite(list(values.values())).all():
            loss = min(max(values.values()) - values[played], MOST_LOSS)
            # The plan looks at one move alone where the played move is its best.
            rows.append({"cell": cell, "hit": float(len(values) == 1), "loss": loss})
    return pl.DataFrame(rows)


def matched(own: pl.DataFrame, others: pl.DataFrame, name: str) -> tuple[float, float]:
    """Return the mean of a figure with the others' shares of the cells, and its standard error.

    Cells in which either has fewer than two turns are left out.
    """
    mean, variance, weight = 0.0, 0.0, 0.0
    for (cell,), part in others.group_by("cell"):
        mine: Floats = own.filter(pl.col("cell") == cell)[name].to_numpy()
        if len(mine) > 1 and len(part) > 1:
            mean += len(part) * float(mine.mean())
            variance += len(part) ** 2 * float(mine.var(ddof=1)) / len(mine)
            weight += len(part)
    return mean / weight, float(np.sqrt(variance)) / weight


def compare(groups: Mapping[str, pl.DataFrame], depth: int) -> dict[str, Any]:
    """Set each engine beside the honest players."""
    honest = groups[HONEST]
    rows = []
    for name, own in groups.items():
        row: dict[str, Any] = {"who": name, "turns": len(own)}
        for figure in ("hit", "loss"):
            values = own[figure].to_numpy()
            row[figure] = float(values.mean())
            row[f"{figure}_se"] = float(values.std(ddof=1) / np.sqrt(len(values)))
            if name != HONEST:
                mine, error = matched(own, honest, figure)
                theirs, their_error = matched(honest, honest, figure)
                row[f"{figure}_matched"], row[f"{figure}_matched_se"] = mine, error
                row[f"{figure}_z"] = (mine - theirs) / np.hypot(error, their_error)
        rows.append(row)
    return {"separates": depth, "moves": [FIRST_MOVE, LAST_MOVE], "rows": rows}


def study(given: argparse.Namespace) -> dict[str, Any]:
    """Draw, search and compare."""
    groups: dict[str, list[pl.DataFrame]] = {}
    files = [(path, None) for path in given.honest] + [(path, "mover") for path in given.engines]
    for path, by in files:
        for name, turns in sample(path, by, given.sample, given.seed):
            groups.setdefault(name, []).append(measure(turns, given.store, given.depth))
            print(name, path.stem, len(turns), flush=True)
    figures = compare({name: pl.concat(parts) for name, parts in groups.items()}, given.depth)
    return {**figures, "events": [path.stem for path in given.honest], "seed": given.seed}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--honest", type=Path, nargs="+", required=True)
    parser.add_argument("--engines", type=Path, nargs="+", required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--sample", type=int, default=100, help="turns of a file or an engine")
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args(arguments)
    write_text(given.output, json.dumps(study(given), indent=1) + "\n")


if __name__ == "__main__":
    main()
