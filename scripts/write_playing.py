"""Write the playing maps: by which rule a shallow plan plays as strongly as people of an Elo.

    python -m scripts.write_playing ../shared/data --work DIR [--store DIR] [--every 6]

Needs no engine, but for quick a store with a strong event (`scripts/playing_caution.py`). Human
turns that were evaluated to depth 10 are cut to the depth of each plan (*bullet* 6, *blitz* 8,
*quick* 10). A rule is an agent, a sharpness and a caution, see
`milepost.intrinsic.choosing.playing`.

**Within three pawns** the agents are those of a calibration (bullet's own; for blitz quick's, which
sees the last two depths as nothing new). For a grid of rules it is worked out how the calibration
of quick would rate them and how often they would slip by its values
(`milepost.intrinsic.choosing.judge`). For every Elo a rule is kept that is rated so and slips as
nearly as can be as quick's own agents of that Elo do, which stand for people. A map ends where the
rules would slip by a pawn about a quarter more often than people do: a rule can still be rated
higher there, but does not err as people do. Quick, the judge, plays as its agents choose, with some
caution from 2200 on.

**In decided positions** the agents are quick's of the mover's Elo: bullet's own hardly differ with
Elo. Those agents rise too little with Elo themselves: people over 2500 slip by a pawn in 6.5 % of
the turns in which they are three to five pawns ahead, the agents in 10.8 %. So people are the
truth here, not the agents. Sharpness and caution go along lines in Elo, and the lines are kept
whose slips are nearest to people's in turns with a lead of three to five pawns, for who is ahead
and who is behind, in bands of Elo. Beyond five pawns the same rules go on.

Turns: `analysis/random_turns_2011-2014.parquet` for positions within three pawns, and the turns of
`scripts/write_decided.py` for those beyond. The rules are checked on every sixth game of
`analysis/whole_games.parquet`, of which no turn within three pawns made the map.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scripts.playing_caution import STRONG_EVENTS, careful_rules, strong_turns
from scripts.write_calibrations import GAMES, random_turns
from scripts.write_decided import BEST, decided_turns, scored_turns

import milepost as mp
from milepost.analysis.engine.setup import EngineSetup
from milepost.api.minds import bot_plan
from milepost.choice.evaluation.evaluate import ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import load_calibration
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.choosing.decided import LIMIT_PAWNS, decided_for, on_mate_ladder
from milepost.intrinsic.choosing.judge import SLIPS, Judge, normalised, own_losses, played
from milepost.intrinsic.choosing.playing import DECIDED, NEAR, PlayingMap, Rule
from milepost.io.files import write_text

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "playing"
JUDGE = "stockfish15.1-quick"
AGENTS = {"bullet": "stockfish15.1-bullet", "blitz": JUDGE, "quick": JUDGE}
TARGETS = (1417.0, *range(1500, 2801, 100), 2842.0)
AGENT_ELOS = np.arange(900.0, 3601.0, 300.0)
SHARPNESS = np.array([1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5])
CAUTION = np.array([0.0, 0.25, 0.5, 1.0, 2.0])
LAST = {"bullet": 2000.0, "blitz": 2600.0, "quick": 2842.0}
"""The greatest Elos."""
DECIDED_BANDS = (1300, 1600, 1800, 2000, 2200, 2400, 2500, 2900)
"""Elos between which slips in decided positions are counted."""
SMALL_LEAD = 5.0
"""Slips in decided positions count up to this lead, in pawns: small leads can be given back."""
LEAST_TURNS = 40
"""Cells with fewer turns are left out."""
WEIGHTS = np.array([1.0, 1.0, 0.5, 0.25])
"""How much the slips of `SLIPS` count: the great ones are rare, so less is known of them."""


def near_turns(data: Path, work: Path) -> Spreads:
    """Return the random turns within three pawns, cached in `work`."""
    cached = work / "near_random.parquet"
    if not cached.exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingEvaluationsWarning)
            found = mp.decisions(data / GAMES, random_turns(data, work), plan="quick")
        found.save(cached)
    return replace(Spreads.from_table(pl.read_parquet(cached)), places=None)


def other_turns(data: Path) -> Spreads:
    """Return turns within three pawns of other games: every sixth game of other years."""
    near = (BEST.abs() <= 100 * LIMIT_PAWNS) & (pl.col("game") % 6 == 0)
    found = scored_turns([data / "analysis" / "whole_games.parquet"], near)
    return replace(found, places=None)


def as_seen(spreads: Spreads, depth: int, path: AgentPath) -> Spreads:
    """Return decisions as a plan sees them, with the depths that the agents need.

    As `Chooser.spreads` does in a game: depths that were not searched bring nothing new.
    """
    cut = spreads.to_depth(depth)
    scheme = path.model.depths
    assert scheme is not None
    assert cut.depth_values is not None
    more = max(scheme.depths) - depth
    last = np.where(np.isnan(cut.depth_values[:, -1]), cut.values, cut.depth_values[:, -1])
    table = np.hstack([cut.depth_values, np.repeat(last[:, None], max(more, 0), axis=1)])
    return replace(cut, depth_values=table, depths=tuple(range(1, table.shape[1] + 1)))


def around(grid: Floats, value: float) -> list[tuple[int, float]]:
    """Return the places of a grid beside a value, with weights that add up to 1."""
    above = min(max(int(np.searchsorted(grid, value)), 1), len(grid) - 1)
    share = (value - grid[above - 1]) / (grid[above] - grid[above - 1])
    return [(above - 1, 1.0 - share), (above, share)]


def between(table: Floats, sharpness: float, caution: float) -> Floats:
    """Return a table over the grids of sharpness and caution at a point between them."""
    answer: Floats = sum(
        table[row, column] * (one * other)
        for row, one in around(SHARPNESS, sharpness)
        for column, other in around(CAUTION, caution)
    )
    return answer


class Rules:
    """What the judge says of a grid of rules."""

    def __init__(self, judge: Judge, seen: Spreads, path: AgentPath):
        self.judge = judge
        prepared = prepare(seen, path.model)
        self.elos = np.empty((len(SHARPNESS), len(CAUTION), len(AGENT_ELOS)))
        self.slips = np.empty((*self.elos.shape, len(SLIPS)))
        for place, elo in enumerate(AGENT_ELOS):
            ln_p = ln_probabilities(path.model, prepared, path.theta([elo]))
            for row, column in np.ndindex(self.elos.shape[:2]):
                rule = Rule(elo, float(SHARPNESS[row]), float(CAUTION[column]))
                p = seen.as_given(played(ln_p, seen, [rule]))
                self.elos[row, column, place] = judge.elo(p)
                self.slips[row, column, place] = judge.slips(p)
        self._people = np.stack([judge.slips(judge.agents(elo)) for elo in judge.elos])

    def at(self, target: float, sharpness: float, caution: float) -> tuple[float, Floats] | None:
        """Return the Elo of the agent that is rated at an Elo, and its slips in people's.

        None = no agent of the grid is rated so with this sharpness and caution.
        """
        elos = between(self.elos, sharpness, caution)
        if not elos[0] <= target <= elos.max():
            return None
        end = int(elos.argmax()) + 1  # beyond, ever greater differences count for nothing more
        agent = float(np.interp(target, elos[:end], AGENT_ELOS[:end]))
        slips = between(self.slips, sharpness, caution)
        found = np.array([np.interp(agent, AGENT_ELOS, each) for each in slips.T])
        people = np.array([np.interp(target, self.judge.elos, each) for each in self._people.T])
        return agent, found / people


Line = tuple[float, float]
"""The first and the last value of something that goes along a line in Elo."""


def lines() -> Iterator[tuple[Line, Line]]:
    """All lines of sharpness and caution between points of their grids, neither falling."""
    for sharp in itertools.combinations_with_replacement(SHARPNESS, 2):
        for careful in itertools.combinations_with_replacement(CAUTION, 2):
            yield sharp, careful


NearRule = tuple[float, Rule, Floats]
"""An Elo, its rule, and the slips of the rule in people's."""


def near_rules(rules: Rules, targets: Sequence[float]) -> tuple[Floats, list[dict[str, Any]]]:
    """Return the rules within three pawns, and their slips in people's.

    Sharpness and caution go along lines in Elo: those whose slips are nearest to people's.
    """
    ends = [targets[0], targets[-1]]
    least, best = np.inf, list[NearRule]()
    for sharp, careful in lines():
        rows: list[NearRule] = []
        error = 0.0
        for target in targets:
            sharpness, caution = (float(np.interp(target, ends, line)) for line in (sharp, careful))
            found = rules.at(target, sharpness, caution)
            if found is None:
                break
            rows.append((target, Rule(found[0], sharpness, caution), found[1]))
            error += float(WEIGHTS @ np.log(found[1]) ** 2)
        agents = [rule.agent for _, rule, _ in rows]
        rising = all(a < b for a, b in itertools.pairwise(agents))
        if len(rows) == len(targets) and rising and error < least:
            least, best = error, rows
    told: list[dict[str, Any]] = []
    for target, rule, ratio in best:
        slips = [round(float(each), 3) for each in ratio]
        told.append({"elo": float(target), "slips": slips})
        sys.stdout.write(f"  near {target:.0f}: {rule}, slips {slips}\n")
    sys.stdout.write(f"  the strongest rule is rated {rules.elos.max():.0f}\n")
    return as_table([(target, rule) for target, rule, _ in best]), told


def as_table(rules: Sequence[tuple[float, Rule]]) -> Floats:
    """Return rules as a playing map keeps them."""
    return np.array(
        [
            (target, round(rule.agent, 1), round(rule.sharpness, 4), round(rule.caution, 4))
            for target, rule in rules
        ]
    )


def decided_rules(
    ladder: Spreads, depth: int, path: AgentPath, targets: Sequence[float]
) -> tuple[Floats, list[dict[str, Any]]]:
    """Return the rules in decided positions, and their slips beside people's.

    Parameters
    ----------
    ladder
        The decisions with the deeper values, on the mate ladder, with the movers' ratings.
    depth
        What the plan sees of them.
    path
        The agents; that of the mover's Elo is taken.
    targets
        The Elos of the map.
    """
    assert ladder.rating is not None
    ends = [targets[0], targets[-1]]
    inside = (ladder.rating >= ends[0] - 100) & (ladder.rating < ends[1] + 100)
    ladder = ladder.take(inside & (np.abs(ladder.values[ladder.offsets[:-1]]) <= SMALL_LEAD))
    assert ladder.rating is not None
    elos = np.clip(ladder.rating, ends[0], ends[1])
    seen = as_seen(ladder, depth, path)
    ln_p = ln_probabilities(path.model, prepare(seen, path.model), path.theta(elos))
    loss, starts = own_losses(ladder), ladder.offsets[:-1]
    over = [loss >= limit - 1e-9 for limit in SLIPS]
    slips = np.empty((len(SHARPNESS), len(CAUTION), len(SLIPS), len(ladder)))
    for row, column in np.ndindex(slips.shape[:2]):
        rule = Rule(0.0, float(SHARPNESS[row]), float(CAUTION[column]))
        p = seen.as_given(played(ln_p, seen, [rule]))
        slips[row, column] = [np.add.reduceat(p * each, starts) for each in over]
    people = np.stack([each[starts + ladder.chosen].astype(float) for each in over])
    band = np.searchsorted(DECIDED_BANDS, ladder.rating, side="right")
    ahead = ladder.values[starts] > 0
    cells = [
        (side, number, (ahead == side) & (band == number)) for side, number in cell_names(band)
    ]
    cells = [cell for cell in cells if cell[2].sum() >= LEAST_TURNS]
    best, least = ((1.0, 1.0), (0.0, 0.0)), np.inf
    for sharp, careful in lines():
        rule_slips = along(slips, elos, ends, sharp, careful)
        error = 0.0
        for _, _, here in cells:
            p, q = rule_slips[:, here].mean(axis=1), people[:, here].mean(axis=1)
            error += float(WEIGHTS @ ((p - q) ** 2 * here.sum() / (p * (1 - p))))
        if error < least:
            best, least = (sharp, careful), error
    rule_slips = along(slips, elos, ends, *best)
    told: list[dict[str, Any]] = []
    for side, number, here in cells:
        figures = {
            "side": "ahead" if side else "behind",
            "from": DECIDED_BANDS[number - 1],
            "to": DECIDED_BANDS[number],
            "turns": int(here.sum()),
            "people": [round(100 * float(each), 2) for each in people[:, here].mean(axis=1)],
            "rule": [round(100 * float(each), 2) for each in rule_slips[:, here].mean(axis=1)],
        }
        told.append(figures)
        sys.stdout.write(f"  decided {figures}\n")
    told_lines = [[float(each) for each in line] for line in best]
    sys.stdout.write(f"  decided: sharpness, caution {told_lines}, error {least:.1f}\n")
    rules = [
        (target, Rule(target, *(float(np.interp(target, ends, line)) for line in best)))
        for target in targets
    ]
    return as_table(rules), told


def cell_names(band: npt.NDArray[np.int64]) -> list[tuple[bool, int]]:
    """Every side with every band."""
    numbers = sorted({int(each) for each in band} & set(range(1, len(DECIDED_BANDS))))
    return list(itertools.product((True, False), numbers))


def along(slips: Floats, elos: Floats, ends: list[float], sharp: Line, careful: Line) -> Floats:
    """Return the slips of every decision where sharpness and caution go along lines in Elo."""
    answer = np.zeros(slips.shape[2:])
    share = (elos - ends[0]) / (ends[1] - ends[0])
    rows = _weights(SHARPNESS, sharp[0] + share * (sharp[1] - sharp[0]))
    columns = _weights(CAUTION, careful[0] + share * (careful[1] - careful[0]))
    for row, column in np.ndindex(slips.shape[:2]):
        weight = rows[row] * columns[column]
        if weight.any():
            answer += weight * slips[row, column]
    return answer


def _weights(grid: Floats, values: Floats) -> Floats:
    """Weights of the points of a grid, a row each, for values between them."""
    return np.stack([np.interp(values, grid, unit) for unit in np.eye(len(grid))])


def setup_of(plan_name: str) -> str:
    """Return the digest of the set-up of a plan, with the engine of the judge."""
    about = load_calibration(JUDGE).made["options"]["setup"]
    options = tuple(sorted(about["options"].items()))
    return EngineSetup(about["name"], about["net"], options, bot_plan(plan_name).text).digest


def checked(playing: PlayingMap, judge: Judge, seen: Spreads, path: AgentPath) -> list[Any]:
    """Return what the judge says of the map on turns that did not make it."""
    prepared = prepare(seen, path.model)
    rows = []
    for target in TARGETS:
        if not playing.range[0] <= target <= playing.range[1]:
            continue
        rule = playing.rule(target)
        ln_p = ln_probabilities(path.model, prepared, path.theta([rule.agent]))
        p = seen.as_given(played(ln_p, seen, [rule]))
        plain = normalised(ln_probabilities(path.model, prepared, path.theta([target])), seen)
        rows.append(
            {"elo": float(target), "rated": round(judge.elo(p))}
            | {"rated_unsharpened": round(judge.elo(seen.as_given(plain)))}
            | {"slips": [round(100 * float(each), 2) for each in judge.slips(p)]}
        )
        sys.stdout.write(f"    other games: {rows[-1]}\n")
    return rows


def write(
    plan_name: str,
    near: Spreads,
    strong: Spreads | None,
    check: Spreads,
    decided: Spreads,
    outputs: Path,
) -> None:
    """Write the map of one plan; `strong` are more decisions of strong players, for quick."""
    plan = bot_plan(plan_name)
    calibration, judge = load_calibration(AGENTS[plan_name]), load_calibration(JUDGE)
    sys.stdout.write(f"{plan_name}: depth {plan.depth}, agents of {calibration.name}\n")
    path = calibration.map.path
    far = decided_for(judge.setup)
    assert far is not None
    ladder = on_mate_ladder(decided)
    targets = [target for target in TARGETS if target <= LAST[plan_name]]
    decided_table, decided_told = decided_rules(ladder, plan.depth, far.path, targets)
    told: dict[str, Any] = {DECIDED: decided_told}
    strongest = None
    inputs = ["random_turns_2011-2014.parquet", "whole_games.parquet"]
    if plan_name == "quick":
        assert strong is not None
        rules, told["caution"] = careful_rules(
            Judge(near, judge.map.path), [near, strong], path, targets
        )
        near_table = as_table(rules)
        inputs += STRONG_EVENTS
    else:
        grid = Rules(Judge(near, judge.map.path), as_seen(near, plan.depth, path), path)
        near_table, told[NEAR] = near_rules(grid, targets)
        strongest = round(float(grid.elos.max()))
    playing = PlayingMap(
        setup_of(plan_name), calibration.name, judge.name, judge.name,
        {NEAR: near_table, DECIDED: decided_table},
        {NEAR: len(near), DECIDED: len(decided), "check": len(check)},
    )  # fmt: skip
    made = {
        "made_by": "scripts/write_playing.py",
        "inputs": inputs,
        "plan": plan_name,
        "strongest_rule": strongest,
        "slips_against_people": told,
        "other_games": checked(
            playing, Judge(check, judge.map.path), as_seen(check, plan.depth, path), path
        ),
    }
    outputs.mkdir(parents=True, exist_ok=True)
    text = json.dumps(replace(playing, made=made).to_dict(), indent=1)
    write_text(outputs / f"stockfish15.1-{plan_name}.json", text + "\n")


def main() -> None:
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("data", type=Path, help="the folder of real data (../shared/data)")
    parser.add_argument("--work", type=Path, required=True, help="for tables that are made once")
    parser.add_argument("--outputs", type=Path, default=OUTPUTS, help="where they are written")
    parser.add_argument("--only", choices=tuple(AGENTS), help="one of the plans")
    parser.add_argument("--every", type=int, default=1, help="only every so manyth turn: faster")
    parser.add_argument("--store", type=Path, help="evaluations of strong events, for quick")
    given = parser.parse_args()
    strong = None
    if given.only in (None, "quick"):
        if given.store is None:
            parser.error("quick needs --store")
        strong = strong_turns(given.data, given.store)
    near, check = near_turns(given.data, given.work), other_turns(given.data)
    decided = replace(decided_turns(given.data / "analysis"), places=None)
    near, decided = (each.take(np.arange(0, len(each), given.every)) for each in (near, decided))
    for name in AGENTS:
        if given.only in (None, name):
            write(name, near, strong, check, decided, given.outputs)


if __name__ == "__main__":
    main()
