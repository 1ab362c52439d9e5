"""The deep look: is it honest, and does it see engines?

    python -m studies.fair_play_deep pull DATA --store DIR ... --deep DIR [--plan bullet] -o FILE
    python -m studies.fair_play_deep fresh DATA --store DIR --deep DIR --pull FILE -o FILE
    python -m studies.fair_play_deep engines GAMES... --store DIR --deep DIR --pull FILE -o FILE
    python -m studies.fair_play_deep power DATA --store DIR --deep DIR --pull FILE -o FILE
    python -m studies.fair_play_deep tables FILE... -o docs/fairplay_deep.md

*pull*: how honest players of part *estimate* are drawn to the move of a deep search (`--deep`: a
store of `milepost analyse --plan multipv --width 1 --depth 12`), and their evidence ratios, each
with lines measured on other events alone. *fresh*: performances of events that the pull has not
seen. *engines*: games of engines, as if players of
certain ratings had played them. *power*: honest games in which moves are replaced. Only figures are
written, no names.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scripts.write_honest import read_events
from studies.fair_play_deep_tables import page

import milepost as mp
from milepost.choice.spreads import Ints
from milepost.fairplay.deep.look import (
    DeepSimulator,
    DeepTurns,
    deep_turns,
    ln_mean,
    measure_pull,
)
from milepost.fairplay.deep.pull import DeepPull
from milepost.fairplay.evidence.juries import best_moves
from milepost.fairplay.evidence.simulate import Draws, Simulator
from milepost.fairplay.performances import Board, Performance, make_board, performance
from milepost.fairplay.reference.honest import honest_players
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


def known_movers(found: mp.Decisions, deep: Ints) -> pl.Series:
    """The players whose deep moves are known: others have a few by shared openings."""
    known = found.table.select("mover", pl.Series("known", deep >= 0)).group_by("mover")
    return known.agg(pl.col("known").mean()).filter(pl.col("known") >= ENOUGH)["mover"]


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
        movers = known_movers(found, deep)
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
            p = np.concatenate(
                [each.p[each.kinds.agree == agree] for each in mine] or [np.empty(0)]
            )
            hit = np.concatenate(
                [each.hit[each.kinds.agree == agree] for each in mine] or [np.empty(0)]
            )
            if len(p):
                rows.append({"elo": low, "agree": bool(agree), "turns": len(p),
                             "played": float(hit.mean()), "agents": float(p.mean())})  # fmt: skip
    return rows


STRETCHES = ((1, 20), (21, 40), (41, 60), (61, 999))
"""Move numbers, from and to."""


def by_stretch(
    those: list[tuple[Performance, Ints, DeepPull]],
) -> list[dict[str, Any]]:
    """How often the deep move is played by kind of turn, beside what honest players do."""
    parts = []
    for real, deep, pull in those:
        turns = deep_turns(real, deep)
        number = real.board.table["move_number"].to_numpy()[real.rows][deep >= 0]
        b = pull.tilt(np.array([real.rating]), turns.kinds, turns.p[:, None])[:, 0]
        chance = turns.p * np.exp(b) / (1 - turns.p + turns.p * np.exp(b))
        parts.append(np.stack([number, turns.hit, chance, turns.kinds.quiet, turns.p]))
    number, hit, chance, quiet, p = np.concatenate(parts, axis=1)
    kinds = {
        f"moves {first} and later" if last == 999 else f"moves {first} to {last}": (
            (number >= first) & (number <= last)
        )
        for first, last in STRETCHES
    }
    kinds["quiet turns"] = quiet == 1
    kinds["other turns"] = quiet == 0
    kinds["quiet turns from move 41 on"] = (quiet == 1) & (number > 40)
    kinds["agents under 1 in 100"] = p < 0.01
    kinds["agents 1 to 5 in 100"] = (p >= 0.01) & (p < 0.05)
    rows = []
    for name, here in kinds.items():
        if here.any():
            spread = float(np.sqrt((chance * (1 - chance))[here].sum()))
            rows.append(
                {"kind": name, "turns": int(here.sum()),
                 "played": float(hit[here].mean()), "honest": float(chance[here].mean()),
                 "z": float((hit - chance)[here].sum()) / spread}
            )  # fmt: skip
    return rows


def study_pull(given: argparse.Namespace) -> dict[str, Any]:
    """Measure the pull; and the ratios of honest performances, each event by the pull of others."""
    found = honest_performances(given)
    turns = {name: [deep_turns(*each) for each in those] for name, those in found.items()}
    everybody = [each for those in turns.values() for each in those]
    whole: list[float] = []
    games: list[float] = []
    rows: list[dict[str, Any]] = []
    for name, those in found.items():
        others = [each for other, kept in turns.items() if other != name for each in kept]
        pull = measure_pull(others, given.depth)
        for (real, deep), own in zip(those, turns[name], strict=True):
            look = DeepSimulator(real, deep, pull)
            ln_e = look.evidence(look.played).ln_e
            whole.append(ln_e)
            # Other events may have nobody of this rating: so also by all other performances.
            near = measure_pull([each for each in everybody if each is not own], given.depth)
            ln_e_near = DeepSimulator(real, deep, near).evidence(look.played).ln_e
            rows.append({"event": name, "elo": real.rating, "turns": len(real),
                         "games": real.games, "played": float((look.played == deep).mean()),
                         "expected": look.expected_share(deep), "ln_e": ln_e,
                         "ln_e_near": ln_e_near,
                         "ln_e_before": real.evidence.ln_e,
                         "ln_e_mean": ln_mean(real.evidence.ln_e, ln_e)})  # fmt: skip
            lengths = np.diff(real.turns.starts)
            games += [each.ln_e for each, turns_of in zip(
                look.each_game(look.played), lengths, strict=True
            ) if turns_of >= LEAST_TURNS_OF_A_GAME]  # fmt: skip
        tell(f"{name}: {[round(row['ln_e'], 2) for row in rows[-len(those) :]]}")
    pull = measure_pull(everybody, given.depth, deep_setups(given.deep, given.depth)[0])
    made = {**pull.made, "events": sorted(found), "plan": given.plan,
            "calibration": given.calibration}  # fmt: skip
    # What ships as honest people's ratios was judged by the pull of other events: by their own
    # they would look tamer than a stranger does.
    shipped = replace(pull, ln_e=np.sort(whole), made=made)
    return {
        "calibration": given.calibration,
        "pull": shipped.to_dict(),
        "rates": rates(everybody),
        "by_stretch": by_stretch(
            [(real, deep, pull) for those in found.values() for real, deep in those]
        ),
        "measured_on_others": {
            "performances": about_e(whole),
            "near": about_e([row["ln_e_near"] for row in rows]),
            "mean_of_both": about_e([row["ln_e_mean"] for row in rows]),
            "player_games": about_e(games),
        },
        "rows": rows,
    }


def study_fresh(given: argparse.Namespace) -> dict[str, Any]:
    """Honest performances of events that the pull has not seen, of games that were looked at whole.

    What the pull looks like was decided on the events that it was measured on; these had no part.
    """
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    pull = DeepPull.from_dict(json.loads(given.pull.read_text(encoding="utf-8"))["pull"])
    rows: list[dict[str, Any]] = []
    events = read_events(given.data[0], given.store, given.plan, "estimate", given.events)
    for name, found in events.items():
        if name in pull.made["events"]:
            continue
        deep = deep_options(given.deep, given.depth, found)
        known = found.table.select("game_id", pl.Series("known", deep >= 0)).group_by("game_id")
        whole = known.agg(pl.col("known").mean()).filter(pl.col("known") >= ENOUGH)["game_id"]
        keep = found.table["game_id"].is_in(whole.implode())
        board = make_board(found.table.filter(keep), calibration, honest)
        for real, mine in looked_at(board, deep[keep.to_numpy()]):
            look = DeepSimulator(real, mine, pull)
            ln_e = look.evidence(look.played).ln_e
            rows.append({"event": name, "elo": real.rating, "turns": len(real),
                         "games": real.games, "played": float((look.played == mine).mean()),
                         "expected": look.expected_share(mine), "ln_e": ln_e,
                         "ln_e_before": real.evidence.ln_e,
                         "ln_e_mean": ln_mean(real.evidence.ln_e, ln_e)})  # fmt: skip
            tell(str(rows[-1]))
    return {
        "calibration": given.calibration,
        "fresh": about_e([row["ln_e"] for row in rows]),
        "mean_of_both": about_e([row["ln_e_mean"] for row in rows]),
        "rows": rows,
    }


def study_engines(given: argparse.Namespace) -> dict[str, Any]:
    """Engines' games as if players of certain ratings had played them."""
    calibration = mp.load_calibration(given.calibration)
    honest = honest_players(calibration)
    pull = DeepPull.from_dict(json.loads(given.pull.read_text(encoding="utf-8"))["pull"])
    rows = []
    for games in given.data:
        found = mp.decisions(games, given.store[0], plan=given.plan)
        deep = deep_options(given.deep, given.depth, found)
        keep = found.table["mover"].is_in(known_movers(found, deep).implode())
        table, deep = found.table.filter(keep), deep[keep.to_numpy()]
        for rating in given.ratings:
            table = table.with_columns(pl.lit(rating, dtype=pl.Int32).alias("mover_elo"))
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
                     "index": 50 + 5 * real.scored.combined,
                     "by_stretch": by_stretch([(real, mine, pull)])}
                )  # fmt: skip
                tell(str(rows[-1]))
    return {"calibration": given.calibration, "engines": rows}


STATISTICS = ("mean", "deep", "plain", "match")
"""E as a full test reports it, its two ratios, and z of the match rate."""
POWER_SHARES = (0.1, 0.2, 0.4, 1.0)


def _four(look: DeepSimulator, plain: Simulator, picked: Ints) -> list[float]:
    """The statistics of some choices."""
    deep = look.evidence(picked).ln_e
    without, _, match = plain.statistics(picked)
    return [ln_mean(without, deep), deep, without, match]


def _thresholds(
    look: DeepSimulator, plain: Simulator, rng: np.random.Generator, draws: int
) -> dict[str, list[float]]:
    """What simulated honest people on these turns reach once in 100 and once in 1,000 times.

    Half of the draws are helped, and each is weighed as in `milepost.fairplay.evidence.simulate`.
    """
    kinds = [None] * draws + ["menu"] * draws
    found = np.array([_four(look, plain, look.choices(rng, kind)) for kind in kinds])
    weights = 1 / (0.5 + 0.5 * np.exp(np.minimum(found[:, 1], 600.0)))
    drawn = [Draws(column, column, column, weights) for column in found.T]
    return {
        name: [each.threshold("ln_e", rate) for each in drawn]
        for name, rate in (("1e-2", 1e-2), ("1e-3", 1e-3))
    }


def study_power(given: argparse.Namespace) -> dict[str, Any]:
    """Honest performances with moves of the deep search, or of another engine (`--others`).

    Noticed: at the threshold of simulated honest people on the same turns, one in 100 and in 1,000,
    by E as a full test reports it, by the ratios with and without the deep look, and by the match
    rate, all on the same draws.
    """
    pull = DeepPull.from_dict(json.loads(given.pull.read_text(encoding="utf-8"))["pull"])
    rows: list[dict[str, Any]] = []
    for name, those in honest_performances(given).items():
        for real, deep in those[: given.most]:
            rng = np.random.default_rng([2011, len(rows)])
            look, plain = DeepSimulator(real, deep, pull), Simulator(real)
            limits = _thresholds(look, plain, rng, given.draws)
            helpers = {"the deep search": deep}
            for place, store in enumerate(given.others):
                helpers[given.called[place]] = _options_of(store, real, given)
            for who, move in helpers.items():
                known = move >= 0
                if known.mean() < ENOUGH:
                    continue
                about = {"elo": real.rating, "turns": len(real), "games": real.games, "help": who,
                         "plays_best": float((move == 0)[known].mean()),
                         "plays_deep": float((move == deep)[known].mean())}  # fmt: skip
                for share in POWER_SHARES:
                    found = []
                    for _ in range(1 if share == 1 else REPEATS):
                        mask = known & (rng.random(len(move)) < share)
                        found.append(_four(look, plain, np.where(mask, move, look.played)))
                    noticed = {
                        f"{kind}_{rate}": float(value)
                        for rate, at in limits.items()
                        for kind, value in zip(
                            STATISTICS, (np.array(found) >= at).mean(axis=0), strict=True
                        )
                    }
                    rows.append({**about, "share": share, **noticed})
            tell(f"{name}: {rows[-1]}")
    return {
        "calibration": given.calibration,
        "draws": given.draws,
        "repeats": REPEATS,
        "rows": rows,
    }


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
    studies = {"pull": study_pull, "fresh": study_fresh, "engines": study_engines,
               "power": study_power}  # fmt: skip
    parser.add_argument("study", choices=[*studies, "tables"])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--store", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--deep", type=Path, help="store of the deep search")
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--events", nargs="*", default=[])
    parser.add_argument("--ratings", type=int, nargs="*", default=[1600, 2000, 2400, 2700, 2850],
                        help="what the engines claim to be")  # fmt: skip
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
    parser.add_argument("--most", type=int, help="performances of an event, for power")
    parser.add_argument("-o", "--output", type=Path, required=True)
    given = parser.parse_args()
    given.moves_of = {}
    if given.study == "tables":
        write_text(given.output, page(given.data))
        return
    if not given.store or given.deep is None:
        parser.error("name a store, and that of the deep search")
    write_text(given.output, json.dumps(studies[given.study](given), indent=1) + "\n")


if __name__ == "__main__":
    main()
