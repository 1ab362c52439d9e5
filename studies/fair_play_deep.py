"""The deep look: is it honest, and does it see engines?

    python -m studies.fair_play_deep pull DATA --store DIR ... --deep DIR [--plan bullet] -o FILE
    python -m studies.fair_play_deep engines GAMES... --store DIR --deep DIR --pull FILE -o FILE
    python -m studies.fair_play_deep power DATA --store DIR --deep DIR --pull FILE -o FILE

*pull*: how honest players of part *estimate* are drawn to the move of a deep search (`--deep`: a
store of `milepost analyse --plan multipv --width 1 --depth 12`), and their evidence ratios, each
with lines measured on the other events alone. *engines*: games of engines, as if players of 2700
and 2850 had played them. *power*: honest games in which moves are replaced. Only figures are
written, no names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scripts.write_honest import read_events

import milepost as mp
from milepost.choice.spreads import Ints
from milepost.fairplay.deep_look import (
    DeepPull,
    DeepSimulator,
    DeepTurns,
    deep_turns,
    ln_mean,
    measure_pull,
)
from milepost.fairplay.honest import honest_players
from milepost.fairplay.juries import best_moves
from milepost.fairplay.performances import Board, Performance, make_board, performance
from milepost.fairplay.simulate import Simulator, weighed_draws
from milepost.io.files import write_text

ENOUGH = 0.95
"""Performances are taken whose deep moves are known on so many turns."""
LEAST_TURNS = 100
LEAST_TURNS_OF_A_GAME = 15
REPEATS = 12
"""Replacements of the same performance."""


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, file=sys.stderr, flush=True)


def deep_setups(store: Path, depth: int) -> list[str]:
    """The set-ups of a store that search one line to a depth."""
    known = mp.open_store(store).known_setups()
    plan = f"multipv depth {depth} width 1"
    return [key for key, about in known.items() if about.get("plan") == plan]


def deep_options(store: Path, depth: int, found: mp.Decisions) -> Ints:
    """The deep search's option on each turn; -1 = not known."""
    stored = mp.open_store(store)
    assert found.moves is not None
    best: list[str | None] = [None] * len(found)
    for setup in deep_setups(store, depth):
        more = best_moves(stored, setup, found.table["position"])
        best = [old or new for old, new in zip(best, more, strict=True)]
    return np.array(
        [
            options.index(move) if move in options else -1
            for options, move in zip(found.moves.to_list(), best, strict=True)
        ],
        dtype=np.int64,
    )


def looked_at(board: Board, deep: Ints) -> Iterator[tuple[Performance, Ints]]:
    """Yield the performances whose deep moves are known."""
    for player in board.players:
        real = performance(board, player)
        mine = deep[real.rows]
        if len(real) >= LEAST_TURNS and (mine >= 0).mean() >= ENOUGH:
            yield real, mine


Found = dict[str, list[tuple[Performance, Ints]]]


def honest_performances(given: argparse.Namespace) -> Found:
    """Honest performances of part *estimate* with deep moves, by event."""
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    answer: Found = {}
    for name, found in read_events(
        given.data[0], given.store, given.plan, "estimate", given.events
    ).items():
        deep = deep_options(given.deep, given.depth, found)
        known = pl.Series(deep >= 0)
        movers = found.table.filter(known)["mover"].unique()
        keep = found.table["mover"].is_in(movers.implode())
        if not keep.any():
            continue
        kept = found.filter(pl.col("mover").is_in(movers.implode()))
        board = make_board(kept.table, calibration, honest)
        assert kept.moves is not None
        given.moves_of[id(board)] = kept.moves.to_list()
        answer[name] = list(looked_at(board, deep[keep.to_numpy()]))
        tell(f"{name}: {len(answer[name])} performances")
    return {name: each for name, each in answer.items() if each}


def about_e(ln_e: list[float]) -> dict[str, Any]:
    """Mean, spread and tail of evidence ratios."""
    e = np.exp(np.array(ln_e))
    return {
        "n": len(e), "mean": float(e.mean()), "se": float(e.std() / np.sqrt(len(e))),
        "over_20": float((e > 20).mean()), "over_100": float((e > 100).mean()),
        "largest": float(e.max()), "median": float(np.median(e)),
    }  # fmt: skip


def rates(those: list[DeepTurns]) -> list[dict[str, Any]]:
    """How often the deep move is played, beside what the agents say, by Elo and agreement."""
    rows = []
    for low in range(1400, 3000, 200):
        mine = [each for each in those if low <= each.rating < low + 200]
        for agree in (1.0, 0.0):
            p = np.concatenate([each.p[each.agree == agree] for each in mine] or [np.empty(0)])
            hit = np.concatenate([each.hit[each.agree == agree] for each in mine] or [np.empty(0)])
            if len(p):
                rows.append({"elo": low, "agree": bool(agree), "turns": len(p),
                             "played": float(hit.mean()), "agents": float(p.mean())})  # fmt: skip
    return rows


def study_pull(given: argparse.Namespace) -> dict[str, Any]:
    """Measure the pull, and the ratios of honest performances with that of the other events."""
    found = honest_performances(given)
    turns = {name: [deep_turns(*each) for each in those] for name, those in found.items()}
    everybody = [each for those in turns.values() for each in those]
    whole: list[float] = []
    games: list[float] = []
    rows = []
    for name, those in found.items():
        others = [each for other, mine in turns.items() if other != name for each in mine]
        pull = measure_pull(others, given.depth)
        for real, deep in those:
            look = DeepSimulator(real, deep, pull)
            ln_e = look.evidence(look.played).ln_e
            whole.append(ln_e)
            rows.append({"elo": real.rating, "turns": len(real), "games": real.games,
                         "played": float((look.played == deep).mean()), "ln_e": ln_e,
                         "ln_e_before": real.evidence.ln_e})  # fmt: skip
            lengths = np.diff(real.turns.starts)
            games += [each.ln_e for each, turns_of in zip(
                look.each_game(look.played), lengths, strict=True
            ) if turns_of >= LEAST_TURNS_OF_A_GAME]  # fmt: skip
        tell(f"{name}: {[round(row['ln_e'], 2) for row in rows[-len(those) :]]}")
    pull = measure_pull(everybody, given.depth, deep_setups(given.deep, given.depth)[0])
    ln_e = []
    for those in found.values():
        for real, deep in those:
            look = DeepSimulator(real, deep, pull)
            ln_e.append(look.evidence(look.played).ln_e)
    made = {**pull.made, "events": sorted(found), "plan": given.plan,
            "calibration": given.calibration}  # fmt: skip
    shipped = DeepPull(
        pull.depth, pull.agreed, pull.other, pull.sd, pull.setup, pull.rests_on, np.sort(ln_e),
        made,
    )  # fmt: skip
    return {
        "calibration": given.calibration,
        "pull": shipped.to_dict(),
        "rates": rates(everybody),
        "other_events": {"performances": about_e(whole), "player_games": about_e(games)},
        "rows": rows,
    }


def study_engines(given: argparse.Namespace) -> dict[str, Any]:
    """Engines' games as if players of 2700 and 2850 had played them."""
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    pull = DeepPull.from_dict(json.loads(given.pull.read_text(encoding="utf-8"))["pull"])
    rows = []
    for games in given.data:
        found = mp.decisions(games, given.store[0], plan=given.plan)
        deep = deep_options(given.deep, given.depth, found)
        for rating in (2700, 2850):
            table = found.table.with_columns(pl.lit(rating, dtype=pl.Int32).alias("mover_elo"))
            for real, mine in looked_at(make_board(table, calibration, honest), deep):
                look = DeepSimulator(real, mine, pull)
                evidence = look.evidence(look.played)
                rows.append(
                    {"engine": real.player, "against": rating, "games": real.games,
                     "turns": len(real), "played_deep": float((look.played == mine).mean()),
                     "played_best": float((look.played == 0).mean()),
                     "ln_e": real.evidence.ln_e, "ln_e_deep": evidence.ln_e,
                     "ln_e_deep_worst": evidence.ln_e_worst,
                     "ln_e_mean": ln_mean(real.evidence.ln_e, evidence.ln_e),
                     "index": 50 + 5 * real.scored.combined}
                )  # fmt: skip
                tell(str(rows[-1]))
    return {"calibration": given.calibration, "engines": rows}


def study_power(given: argparse.Namespace) -> dict[str, Any]:
    """Honest performances with moves of the deep search, or of another engine (`--others`).

    Noticed: at the threshold of simulated honest people on the same turns, one in 100 and in 1,000,
    by the ratio with the deep look and, in the same draws, without it.
    """
    pull = DeepPull.from_dict(json.loads(given.pull.read_text(encoding="utf-8"))["pull"])
    rows = []
    for name, those in honest_performances(given).items():
        for real, deep in those:
            rng = np.random.default_rng([2011, len(rows)])
            look, plain = DeepSimulator(real, deep, pull), Simulator(real)
            drawn = [weighed_draws(each, rng, given.draws) for each in (look, plain)]
            limits = [[one.threshold("ln_e", rate) for one in drawn] for rate in (1e-2, 1e-3)]
            helpers = {"the deep search": deep}
            for place, store in enumerate(given.others):
                helpers[given.called[place]] = _options_of(store, real, given)
            for who, move in helpers.items():
                known = move >= 0
                if known.mean() < ENOUGH:
                    continue
                for share in (0.1, 0.2, 0.4, 1.0):
                    hits = []
                    for _ in range(1 if share == 1 else REPEATS):
                        mask = known & (rng.random(len(move)) < share)
                        picked = np.where(mask, move, look.played)
                        both = [each.evidence(picked).ln_e for each in (look, plain)]
                        hits.append([[x >= y for x, y in zip(both, at, strict=True)]
                                     for at in limits])  # fmt: skip
                    share_of = np.mean(hits, axis=0)
                    rows.append(
                        {"elo": real.rating, "turns": len(real), "games": real.games, "help": who,
                         "share": share, "plays_best": float((move == 0)[known].mean()),
                         "plays_deep": float((move == deep)[known].mean()),
                         "deep_1e-2": share_of[0][0], "plain_1e-2": share_of[0][1],
                         "deep_1e-3": share_of[1][0], "plain_1e-3": share_of[1][1]}
                    )  # fmt: skip
            tell(f"{name}: {rows[-1]}")
    return {"calibration": given.calibration, "draws": given.draws, "rows": rows}


def _options_of(store: Path, real: Performance, given: argparse.Namespace) -> Ints:
    """What another engine plays on the turns of a performance; -1 = not known."""
    stored = mp.open_store(store)
    setup = stored.query("select setup, count(*) as n from evaluations group by setup")
    best = best_moves(stored, setup.sort("n")["setup"][-1], real.board.table[real.rows]["position"])
    names = given.moves_of[id(real.board)]
    return np.array(
        [names[row].index(move) if move in names[row] else -1
         for row, move in zip(real.rows.tolist(), best, strict=True)], dtype=np.int64,
    )  # fmt: skip


def main() -> None:
    """Run a study."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    studies = {"pull": study_pull, "engines": study_engines, "power": study_power}
    parser.add_argument("study", choices=list(studies))
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--store", type=Path, required=True, action="append", help="repeatable")
    parser.add_argument("--deep", type=Path, required=True, help="store of the deep search")
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--events", nargs="*", default=[])
    parser.add_argument("--pull", type=Path, help="what the study pull wrote")
    parser.add_argument(
        "--others",
        type=Path,
        action="append",
        default=[],
        help="a store of another engine's best moves; repeatable",
    )
    parser.add_argument("--called", action="append", default=[], help="its name")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.moves_of = {}
    write_text(given.output, json.dumps(studies[given.study](given), indent=1) + "\n")


if __name__ == "__main__":
    main()
