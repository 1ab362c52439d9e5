"""Write the playing maps: by which rule a shallow plan plays as strongly as people of an Elo.

    python -m scripts.write_playing ../shared/data --work DIR [--every 6]

Needs no engine. Human turns that were evaluated to depth 10 are cut to the depth of each plan
(*bullet* 6, *blitz* 8). A rule is an agent of a calibration (bullet's own; for blitz quick's, which
sees the last two depths as nothing new) and a sharpness: p^sharpness. In decided positions the
agents are always quick's: bullet's own hardly differ with Elo, and no rule made of them is rated
above 1300. For a grid of rules it is worked out how the calibration of quick would rate them and
how often they would slip by its values (`milepost.intrinsic.choosing.judge`). For every Elo a rule
is kept that is rated so and slips as nearly as can be as quick's own agents of that Elo do, which
stand for people. A map ends where the rules would slip by a pawn about a quarter more often than
people do: a rule can still be rated higher there, but does not err as people do.

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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
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
from milepost.intrinsic.choosing.judge import SLIPS, Judge, normalised
from milepost.intrinsic.choosing.playing import DECIDED, NEAR, PlayingMap
from milepost.io.files import write_text

OUTPUTS = Path(__file__).resolve().parents[1] / "src" / "milepost" / "data" / "playing"
JUDGE = "stockfish15.1-quick"
AGENTS = {"bullet": "stockfish15.1-bullet", "blitz": JUDGE}
TARGETS = (1417.0, *range(1500, 2801, 100), 2842.0)
AGENT_ELOS = np.arange(900.0, 3601.0, 300.0)
SHARPNESS = np.array([1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5])
LAST = {"bullet": 2000.0, "blitz": 2600.0}
"""The greatest Elos."""
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


class Rules:
    """What the judge says of a grid of rules."""

    def __init__(self, judge: Judge, seen: Spreads, path: AgentPath):
        self.judge, self.seen, self.path = judge, seen, path
        self._prepared = prepare(seen, path.model)
        self.elos = np.empty((len(SHARPNESS), len(AGENT_ELOS)))
        self.slips = np.empty((*self.elos.shape, len(SLIPS)))
        for column, elo in enumerate(AGENT_ELOS):
            for row, sharpness in enumerate(SHARPNESS):
                p = self.probabilities(elo, sharpness)
                self.elos[row, column] = judge.elo(p)
                self.slips[row, column] = judge.slips(p)

    def probabilities(self, elo: float, sharpness: float) -> Floats:
        """Return how a rule chooses, in the order of the judge's options."""
        ln_p = ln_probabilities(self.path.model, self._prepared, self.path.theta([elo]))
        return self.seen.as_given(normalised(ln_p, self.seen, sharpness))

    def at(self, target: float, sharpness: float) -> tuple[float, Floats] | None:
        """Return the Elo of the agent that is rated at an Elo, and its slips in people's.

        None = no agent of the grid is rated so with this sharpness.
        """
        above = min(int(np.searchsorted(SHARPNESS, sharpness)), len(SHARPNESS) - 1)
        below = max(above - 1, 0)
        step = SHARPNESS[above] - SHARPNESS[below]
        share = (sharpness - SHARPNESS[below]) / step if step > 0 else 0.0
        elos = (1 - share) * self.elos[below] + share * self.elos[above]
        if not elos[0] <= target <= elos.max():
            return None
        end = int(elos.argmax()) + 1  # beyond, ever greater differences count for nothing more
        agent = float(np.interp(target, elos[:end], AGENT_ELOS[:end]))
        slips = (1 - share) * self.slips[below] + share * self.slips[above]
        found = np.array([np.interp(agent, AGENT_ELOS, each) for each in slips.T])
        people = [self.judge.slips(self.judge.agents(elo)) for elo in self._around(target)]
        low, high = self._around(target)
        part = (target - low) / (high - low)
        return agent, found / ((1 - part) * people[0] + part * people[1])

    def _around(self, target: float) -> tuple[float, float]:
        place = int(np.searchsorted(self.judge.elos, target, side="right"))
        return float(self.judge.elos[place - 1]), float(self.judge.elos[place])


Rule = tuple[float, float, float, Floats]
"""An Elo, that of the agent, the sharpness, and the slips in people's."""


def rules_of(
    rules: Rules, part: str, targets: Sequence[float]
) -> tuple[Floats, list[dict[str, Any]]]:
    """Return the table of one part of a map, and the slips of its rules in people's.

    The sharpness goes along a line in Elo: the one whose slips are nearest to people's.
    """
    lines: list[tuple[float, list[Rule]]] = []
    for first, last in itertools.combinations_with_replacement(SHARPNESS, 2):
        rows: list[Rule] = []
        error = 0.0
        for target, sharpness in zip(
            targets, np.interp(targets, [targets[0], targets[-1]], [first, last]), strict=True
        ):
            found = rules.at(target, float(sharpness))
            if found is not None:
                rows.append((target, found[0], float(sharpness), found[1]))
                error += float(WEIGHTS @ np.log(found[1]) ** 2)
        agents = [agent for _, agent, _, _ in rows]
        if len(rows) == len(targets) and all(a < b for a, b in itertools.pairwise(agents)):
            lines.append((error, rows))
    best = min(lines, key=lambda line: line[0])[1]
    told: list[dict[str, Any]] = []
    for target, agent, sharpness, ratio in best:
        slips = [round(float(each), 3) for each in ratio]
        told.append({"elo": float(target), "slips": slips})
        sys.stdout.write(f"  {part} {target:.0f}: {agent:.0f} ^ {sharpness:.3f}, slips {slips}\n")
    sys.stdout.write(f"  the strongest rule is rated {rules.elos.max():.0f}\n")
    table = [(target, round(agent, 1), round(sharp, 4)) for target, agent, sharp, _ in best]
    return np.array(table), told


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
        agent, sharpness = playing.rule(target)
        ln_p = ln_probabilities(path.model, prepared, path.theta([agent]))
        p = seen.as_given(normalised(ln_p, seen, sharpness))
        plain = normalised(ln_probabilities(path.model, prepared, path.theta([target])), seen)
        rows.append(
            {"elo": float(target), "rated": round(judge.elo(p))}
            | {"rated_unsharpened": round(judge.elo(seen.as_given(plain)))}
            | {"slips": [round(100 * float(each), 2) for each in judge.slips(p)]}
        )
        sys.stdout.write(f"    other games: {rows[-1]}\n")
    return rows


def write(plan_name: str, near: Spreads, check: Spreads, decided: Spreads, outputs: Path) -> None:
    """Write the map of one plan."""
    plan = bot_plan(plan_name)
    calibration, judge = load_calibration(AGENTS[plan_name]), load_calibration(JUDGE)
    sys.stdout.write(f"{plan_name}: depth {plan.depth}, agents of {calibration.name}\n")
    path = calibration.map.path
    far = decided_for(judge.setup)
    assert far is not None
    ladder = on_mate_ladder(decided)
    rules = {
        NEAR: Rules(Judge(near, judge.map.path), as_seen(near, plan.depth, path), path),
        DECIDED: Rules(Judge(ladder, far.path), as_seen(ladder, plan.depth, far.path), far.path),
    }
    targets = [target for target in TARGETS if target <= LAST[plan_name]]
    found = {part: rules_of(each, part, targets) for part, each in rules.items()}
    playing = PlayingMap(
        setup_of(plan_name), calibration.name, judge.name, judge.name,
        {part: table for part, (table, _) in found.items()},
        {NEAR: len(near), DECIDED: len(decided), "check": len(check)},
    )  # fmt: skip
    made = {
        "made_by": "scripts/write_playing.py",
        "inputs": ["random_turns_2011-2014.parquet", "whole_games.parquet"],
        "plan": plan_name,
        "strongest_rule": {part: round(float(each.elos.max())) for part, each in rules.items()},
        "slips_against_people": {part: told for part, (_, told) in found.items()},
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
    given = parser.parse_args()
    near, check = near_turns(given.data, given.work), other_turns(given.data)
    decided = replace(decided_turns(given.data / "analysis"), places=None)
    near, decided = (each.take(np.arange(0, len(each), given.every)) for each in (near, decided))
    for name in AGENTS:
        if given.only in (None, name):
            write(name, near, check, decided, given.outputs)


if __name__ == "__main__":
    main()
