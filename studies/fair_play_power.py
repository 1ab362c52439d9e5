"""What the check sees: real honest games in which moves are replaced.

    python -m studies.fair_play_power DATA --store DIR [--store DIR] [--others DIR] -o FIGURES.json
    python -m studies.fair_play_power --tables FIGURES.json ... --page docs/fairplay_power.md

Moves of honest players (complete events of part *estimate*) are replaced by the best move of the
set-up itself, or of other engines (`--others`: a store of evaluations, `--called`: its name): a
share of all turns, drawn at random, or one a game at the turn where most is at stake. Each replaced
performance is then judged by E, by z of the match rate with the same care for honest variation, and
by raw match counts.

Two false-alarm rates. One in 100: the threshold is the 99th hundredth of *real* honest parts of as
many games, of all events read. One in 1,000: *simulated* honest people on the same turns. E and the
match rate are compared pair by pair, clustered by performance.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scripts.write_honest import read_events

import milepost as mp
from milepost.choice.spreads import Floats, Ints
from milepost.fairplay.evidence.juries import best_moves
from milepost.fairplay.evidence.simulate import Simulator, weighed_draws
from milepost.fairplay.performances import (
    Board,
    Bools,
    Performance,
    make_board,
    performance,
    performances,
)
from milepost.fairplay.reference.honest import honest_players
from milepost.fairplay.reference.measure import enough_turns
from milepost.fairplay.screen import LEAST_TURNS
from milepost.io.files import write_text

SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)
GAMES = (1, 5, 9)
ELOS = (1600, 2000, 2400)
NEAR = 150
"""Performances within so many points stand for a rating."""
LEAST_TURNS_OF_A_GAME = 15
ENOUGH = 0.95
"""A helper counts on a performance whose turns have so many of its moves."""
REPEATS = 12
"""Replacements of the same performance."""
AT_1 = 2.326
"""One in a hundred of a standard normal lies above."""
OWN = "best of this set-up"
NAMES = ("E", "z", "match")


@dataclass
class Honest:
    """Statistics of real honest parts, by the number of games."""

    ln_e: list[float] = field(default_factory=list)
    z: list[float] = field(default_factory=list)
    match: list[float] = field(default_factory=list)
    raw: list[tuple[float, float]] = field(default_factory=list)
    """Rating, and the share of the set-up's best moves."""

    def add(self, part: Performance) -> None:
        """Take a part in."""
        self.ln_e.append(part.evidence.ln_e)
        self.z.append(part.scored.combined)
        self.match.append(float(part.scored.adjusted[0]))
        chosen = part.board.spreads.chosen[part.rows]
        self.raw.append((part.rating, float((chosen == 0).mean())))

    def thresholds(self) -> Floats:
        """The 99th hundredth of E, z and match rate."""
        return np.array([np.quantile(each, 0.99) for each in (self.ln_e, self.z, self.match)])

    def raw_threshold(self, elo: int) -> float:
        """What raw counts of players near a rating stay below: mean and 2.33 deviations."""
        near = np.array([rate for rating, rate in self.raw if abs(rating - elo) <= NEAR])
        return float(near.mean() + AT_1 * near.std()) if len(near) > 1 else np.inf


def tell(text: str) -> None:
    """Say how far it is."""
    print(text, file=sys.stderr, flush=True)


def parts_of(real: Performance, games: int) -> Iterator[Performance]:
    """Cut a performance into parts of so many games; one of eight or nine counts as nine."""
    ids = real.board.table["game_id"].to_numpy()
    if games == max(GAMES):
        starts = [0] if real.games >= games - 1 else []
    else:
        starts = list(range(0, real.games - games + 1, games))
    for start in starts:
        keep = np.isin(ids, list(real.game_ids[start : start + games]))
        part = performance(real.board, real.player, keep=keep)
        if len(part) >= LEAST_TURNS_OF_A_GAME:
            yield part


def others_of(store: Path, found: mp.Decisions, board: Board) -> Ints:
    """The option that another engine takes on each turn; -1 = not known."""
    assert found.moves is not None
    stored = mp.open_store(store)
    counts = stored.query("select setup, count(*) as n from evaluations group by setup")
    setup = counts.sort("n")["setup"][-1]
    best = best_moves(stored, setup, board.table["position"])
    return np.array(
        [
            options.index(move) if move in options else -1
            for options, move in zip(found.moves.to_list(), best, strict=True)
        ]
    )


def _known(best: Ints) -> bool:
    """Whether enough moves of a helper are there."""
    return bool((best >= 0).mean() >= ENOUGH)


def replacements(
    part: Performance, others: Mapping[str, Ints], rng: np.random.Generator, *, own: bool = True
) -> Iterator[tuple[str, Ints]]:
    """Yield kinds of help, each with choices in which it is given; `own` = the set-up's too."""
    played = part.board.spreads.chosen[part.rows]
    stake = part.turns.chances.stake
    for who, best in ((OWN, np.zeros_like(played)), *others.items()):
        if not _known(best) or (who == OWN and not own):
            continue
        move = np.where(best < 0, played, best)
        for share in SHARES:
            for _ in range(1 if share == 1 else REPEATS):
                mask = rng.random(len(played)) < share
                yield f"{who} {share:.0%}", np.where(mask, move, played)
        critical = np.zeros(len(played), dtype=bool)
        for first, last in zip(part.turns.starts[:-1], part.turns.starts[1:], strict=True):
            critical[first + int(stake[first:last].argmax())] = True
        yield f"{who}, one a game", np.where(critical, move, played)


@dataclass
class Noticed:
    """One performance's replaced choices: noticed or not, by kind of help."""

    of: dict[str, list[list[float]]] = field(default_factory=dict)
    """Rows: E, z, match at one in 100; raw; E, z, match at one in 1,000."""


def judge(
    part: Performance, others: Mapping[str, Ints], at_100: Floats, at_raw: float,
    rng: np.random.Generator, draws: int, *, own: bool = True,
) -> Noticed:  # fmt: skip
    """Replace moves and see what is noticed."""
    simulator = Simulator(part)
    drawn = weighed_draws(simulator, rng, draws)
    at_1000 = np.array([drawn.threshold(name, 1e-3) for name in ("ln_e", "combined", "match")])
    answer = Noticed()
    for label, picked in replacements(part, others, rng, own=own):
        found = np.array(simulator.statistics(picked))
        row = [*(found > at_100), float((picked == 0).mean()) > at_raw, *(found >= at_1000)]
        answer.of.setdefault(label, []).append([float(each) for each in row])
    return answer


def cells(
    elo: int, games: int, judged: Sequence[Noticed]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One row a kind of help, with E less match rate, clustered by performance.

    The second answer has that difference for every performance: `sign_flips` asks for it.
    """
    rows, differences = [], []
    for label in dict.fromkeys(name for each in judged for name in each.of):
        whose = [number for number, each in enumerate(judged) if label in each.of]
        means = np.array([np.mean(judged[number].of[label], axis=0) for number in whose])
        if len(means) < 2:  # one performance has no error
            continue
        share = means.mean(axis=0)
        row: dict[str, Any] = {"elo": elo, "games": games, "help": label,
                               "performances": len(means), "raw_1e-2": share[3]}  # fmt: skip
        for place, name in enumerate(NAMES):
            row[f"{name}_1e-2"], row[f"{name}_1e-3"] = share[place], share[4 + place]
        for rate, shift in (("1e-2", 0), ("1e-3", 4)):
            apart = means[:, shift] - means[:, shift + 2]
            row[f"less_match_{rate}"] = apart.mean()
            row[f"less_match_se_{rate}"] = apart.std(ddof=1) / np.sqrt(len(apart))
            differences.append(
                {"elo": elo, "games": games, "help": label, "rate": rate, "whose": whose,
                 "less_match": apart.round(4).tolist()}
            )  # fmt: skip
        rows.append({key: round(v, 4) if isinstance(v, float) else v for key, v in row.items()})
    return rows, differences


def _below(differences: Floats) -> Bools:
    """Whether E is below the match rate by more than two standard errors; rows = cases."""
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / np.sqrt(differences.shape[1])
    answer: Bools = mean + 2 * error < -1e-12
    return answer


def sign_flips(
    differences: Sequence[Mapping[str, Any]], rng: np.random.Generator, repeats: int = 4000
) -> dict[str, Any]:
    """Return in how many cells E is below the match rate beyond noise, beside chance alone.

    If neither sees more than the other, the differences of a performance may as well have the other
    sign, all of them together: the cells share performances. Signs are drawn at random `repeats`
    times.
    """
    whose = sorted({(each["elo"], number) for each in differences for number in each["whose"]})
    place = {who: column for column, who in enumerate(whose)}
    signs = np.concatenate(
        [np.ones((1, len(whose))), rng.choice([-1.0, 1.0], size=(repeats, len(whose)))]
    )
    below = np.zeros(repeats + 1, dtype=np.int64)
    for each in differences:
        columns = [place[each["elo"], number] for number in each["whose"]]
        below += _below(signs[:, columns] * np.array(each["less_match"]))
    found, chance = int(below[0]), below[1:]
    return {
        "cells": len(differences),
        "below": found,
        "by_chance": float(chance.mean()),
        "by_chance_95": float(np.quantile(chance, 0.95)),
        "p": float((1 + (chance >= found).sum()) / (1 + repeats)),
        "mean": float(np.mean([np.mean(each["less_match"]) for each in differences])),
    }


def study(given: argparse.Namespace) -> dict[str, Any]:
    """Judge replaced games."""
    calibration = mp.load_calibration(given.calibration)
    people = honest_players(calibration)
    known = {games: Honest() for games in GAMES}
    picked: dict[int, list[tuple[Performance, dict[str, Ints]]]] = {elo: [] for elo in ELOS}
    events = read_events(given.data, given.store, given.plan, "estimate", given.events)
    for name, found in events.items():
        table = enough_turns(found.table, LEAST_TURNS)
        kept = found.filter(pl.col("mover").is_in(table["mover"].unique().implode()))
        board = make_board(kept.table, calibration, people)
        others = {
            name: others_of(store, kept, board)
            for store, name in zip(given.others, given.called, strict=True)
        }
        for real in performances(board):
            for games in GAMES:
                for part in parts_of(real, games):
                    known[games].add(part)
            near = [elo for elo in ELOS if abs(real.rating - elo) <= NEAR]
            if near and real.games >= max(GAMES) - 1:
                picked[near[0]].append((real, others))
        tell(f"{name}: {[len(each) for each in picked.values()]}")
    for chosen in picked.values():
        # Those first on whose turns most helpers' moves are known; else as they stand.
        chosen.sort(
            key=lambda each: -sum(_known(moves[each[0].rows]) for moves in each[1].values())
        )
        del chosen[given.most :]
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    for elo, chosen in picked.items():
        for games in GAMES:
            if len(chosen) < 3:
                continue
            rng = np.random.default_rng([given.seed, elo, games])
            limits, raw = known[games].thresholds(), known[games].raw_threshold(elo)
            judged = []
            for real, others in chosen:
                first = next(parts_of(real, games), None)
                if first is not None:
                    mine = {name: options[first.rows] for name, options in others.items()}
                    own = not given.only_others
                    judged.append(judge(first, mine, limits, raw, rng, given.draws, own=own))
            more, apart = cells(elo, games, judged)
            rows += more
            differences += apart
            tell(f"{elo}, {games} games: {len(judged)} performances")
    return {
        "calibration": given.calibration,
        "events": sorted(events),
        "performances": {str(elo): len(each) for elo, each in picked.items()},
        "honest_parts": {str(games): len(each.ln_e) for games, each in known.items()},
        "thresholds_1e-2": {
            str(games): [round(float(x), 3) for x in each.thresholds()]
            for games, each in known.items()
        },
        "draws": given.draws,
        "helpers": [*([] if given.only_others else [OWN]), *given.called],
        "below": {
            who: sign_flips(
                [each for each in differences if each["help"].startswith(who)],
                np.random.default_rng(given.seed),
            )
            for who in (OWN, *given.called)
            if any(each["help"].startswith(who) for each in differences)
        },
        "rows": rows,
    }


def _number(value: float) -> str:
    return "1" if value > 0.995 else f"{value:.2f}".lstrip("0") or "0"


def page(figures: Sequence[dict[str, Any]]) -> str:
    """Return the tables as a page."""
    kinds = [f"{share:.0%}" for share in SHARES]
    about = (
        "Written by `python -m studies.fair_play_power --tables`; how to read it: "
        "[fairplay.md](fairplay.md). Each cell: how often the help is noticed by E / by z of the "
        "match rate / by raw match counts (one in 100 alone). **Bold**: E is below the match rate "
        "by more than two standard errors of the paired difference, clustered by performance."
    )
    lines = ["# Fair play: what the check sees", "", about]
    for each in figures:
        whose = ", ".join(each.get("helpers", [OWN]))
        lines += ["", f"## {each['calibration']}: help by {whose}", ""]
        counts = ", ".join(f"{n} near {elo}" for elo, n in each["performances"].items())
        honest = ", ".join(f"{n} of {games}" for games, n in each["honest_parts"].items())
        lines.append(
            f"{len(each['events'])} events of part *estimate*: {', '.join(each['events'])}. "
            f"Performances with replaced moves: {counts}; {REPEATS} draws each. Real honest parts "
            f"behind the threshold at one in 100: {honest} games. Simulated honest and helped "
            f"people behind the one at 1 in 1,000: {each['draws']} and as many, for each "
            "performance."
        )
        for who, told in each.get("below", {}).items():
            lines += ["", _told(who, told)]
        for who in each.get("helpers", [OWN]):
            for rate, title in (("1e-2", "1 in 100"), ("1e-3", "1 in 1,000")):
                mine = {(r["elo"], r["games"], r["help"]): r for r in each["rows"]
                        if r["help"].startswith(who)}  # fmt: skip
                if not mine:
                    continue
                lines += ["", f"Help by {who}, false alarms {title}:", "",
                          f"| Elo | games | {' | '.join(kinds)} | one a game |",
                          "|---" * (len(kinds) + 3) + "|"]  # fmt: skip
                names = [*(f"{who} {kind}" for kind in kinds), f"{who}, one a game"]
                for elo, games in dict.fromkeys((r["elo"], r["games"]) for r in mine.values()):
                    row = [_cell(mine.get((elo, games, name)), rate) for name in names]
                    lines.append(f"| {elo} | {games} | {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def _told(who: str, told: Mapping[str, Any]) -> str:
    """Whether E sees less than the match rate, beside what chance alone gives."""
    return (
        f"Help by {who}: E is below the match rate beyond noise in **{told['below']} of "
        f"{told['cells']} cells**. Chance alone gives {told['by_chance']:.1f} in the mean and "
        f"{told['by_chance_95']:.0f} or more in one study of twenty (signs of each performance's "
        f"differences drawn at random): p = {told['p']:.2f}. E less match rate, the mean of the "
        f"cells: {told['mean']:+.3f}."
    )


def _cell(row: dict[str, Any] | None, rate: str) -> str:
    if row is None:
        return "–"
    text = f"{_number(row[f'E_{rate}'])} / {_number(row[f'match_{rate}'])}"
    if rate == "1e-2":
        text += f" / {_number(row['raw_1e-2'])}"
    worse = row[f"less_match_{rate}"] + 2 * row[f"less_match_se_{rate}"] < 0
    return f"**{text}**" if worse else text


def main() -> None:
    """Run the study, or write its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--store", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--others", type=Path, action="append", default=[],
                        help="a store of another engine's evaluations; repeatable")  # fmt: skip
    parser.add_argument("--called", action="append", default=[], help="what it is called")
    parser.add_argument("--only-others", action="store_true",
                        help="no help by the set-up's own moves")  # fmt: skip
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--calibration", default="stockfish15.1-bullet")
    parser.add_argument("--events", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=10, help="performances of a rating")
    parser.add_argument("--draws", type=int, default=1000, help="simulated people a performance")
    parser.add_argument("--seed", type=int, default=2011)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--tables", type=Path, nargs="*", help="figures to make a page of")
    parser.add_argument("--page", type=Path, help="where to write it")
    given = parser.parse_args()
    if given.tables:
        text = page([json.loads(path.read_text(encoding="utf-8")) for path in given.tables])
        write_text(given.page, text)
        return
    if given.data is None or not given.store:
        parser.error("name the folder of data and a store")
    write_text(given.output, json.dumps(study(given), indent=1) + "\n")


if __name__ == "__main__":
    main()
