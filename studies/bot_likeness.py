"""How human the bot is, on human turns that made neither the calibration nor the playing maps.

    python -m studies.bot_likeness quick  --store DIR [--data ../shared/data] [--work DIR]
    python -m studies.bot_likeness bullet --store DIR --turns TURNS...
    python -m studies.bot_likeness played [--data ../shared/data] [--work DIR]

*quick*: turns of people's games that were evaluated to depth 10: `analysis/whole_games.parquet` of
1976 to 2009, and two weak events that the store holds. *bullet*: any tables of turns that the store
holds at depth 6.

For each band of Elo: how often people play the engine's best move and the agent's likeliest one,
the log-loss, and the share of turns that give away 0.5, 1, 2, 3 pawns or more, people's beside the
agent's, with standard errors by game. As contrast the rule of Stockfish's ``Skill Level`` on the
same values, at the level whose average loss is nearest to people's. *played* is how the bots play,
by their playing maps: with *quick* by the cheapest plan that can play at the Elo, whose moves are
seen here by the values of depth 10; with *bullet* by its own values. At last, whether
slips fall where they fall for people: by tenths of the agent's entropy.

*played*: only how often the bots slip as they play, beside people, on turns that made no playing
map: those whole games, and three events that quick has evaluated (`analysis/events`).

What was found goes into ``studies/figures/bot.json``, from which ``python -m studies.bot_tables``
writes the tables and the chart of docs/play.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats
from studies.figure_file import BOT

import milepost as mp
from milepost.analysis.exchange.scored_tables import import_shared
from milepost.api.minds import bot_plan, cheapest_plan
from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.choosing.decided import mate_ladder
from milepost.intrinsic.choosing.judge import played
from milepost.intrinsic.choosing.playing import Rule, playing_maps

JUDGE = "stockfish15.1-quick"
WEAK_EVENTS = (
    "1701_fsfmb_september_2015__budapest_hun.pgn", "1717_fsfmb_may_2015__budapest_hun.pgn",
)  # fmt: skip
"""Of part *estimate*; evaluated after the calibration of quick was fitted."""
MAPLESS_EVENTS = ("1919_fsfm2018.pgn", "2311_cccsa_im2016.pgn", "2788_sinquefield2018.pgn")
"""Events that quick has evaluated whole; the calibration saw them, the playing maps did not."""
LEAST_BAND = 200
"""Bands with fewer turns are left out."""
SLIPS = (0.5, 1.0, 2.0, 3.0)
BANDS = (1400, 1700, 1900, 2100, 2300, 2500, 2900)
LEAST_TURNS = 5
"""Games with fewer evaluated turns are strays."""
_DRAWS = 20
_INTERNAL = 3.61
"""Stockfish 15.1's internal units in a centipawn (NormalizeToPawnValue 361)."""
_PAWN = 126.0
"""PawnValueMg, in internal units."""


@dataclass(frozen=True, eq=False)
class Likeness:
    """People beside the agents of their Elo."""

    bands: pl.DataFrame
    """One row a band."""
    slips: pl.DataFrame
    """One row a band, threshold and chooser."""
    entropy: pl.DataFrame
    """One row a tenth of entropy."""
    chi2: tuple[float, int, float]
    """χ², degrees of freedom and p of slips by entropy."""


def as_played(spreads: Spreads, plan: str, elos: Floats) -> Floats:
    """Return how the bots of a plan play turns that were evaluated at least as deeply.

    By the playing map of the plan; without one as the judge's agents choose, and above the end of
    a map as at its end. The probabilities are in the order of the options given.
    """
    playing = next((each for each in playing_maps().values() if each.made["plan"] == plan), None)
    path = load_calibration(JUDGE if playing is None else playing.agents).map.path
    rules = [Rule(elo) if playing is None else playing.rule(elo) for elo in elos]
    assert spreads.depth_values is not None
    assert path.model.depths is not None
    depth = min(bot_plan(plan).depth, spreads.depth_values.shape[1])
    cut = spreads.to_depth(depth)
    assert cut.depth_values is not None
    missing = max(path.model.depths.depths) - cut.depth_values.shape[1]
    table = np.hstack([cut.depth_values, np.repeat(cut.depth_values[:, -1:], missing, axis=1)])
    seen = replace(cut, depth_values=table, depths=tuple(range(1, table.shape[1] + 1)))
    ln_p = ln_probabilities(
        path.model, prepare(seen, path.model), path.theta([each.agent for each in rules])
    )
    shares = played(ln_p, seen, rules)
    return shares if cut is spreads else seen.as_given(shares)


def as_bots_play(spreads: Spreads, plans: Sequence[str]) -> Floats:
    """Return how bots of the movers' Elos play, each by its plan, option by option."""
    assert spreads.rating is not None
    answer = np.empty(len(spreads.values))
    for plan in sorted(set(plans)):
        here = np.array([each == plan for each in plans])
        shares = as_played(spreads.take(here), plan, spreads.rating[here])
        answer[np.repeat(here, spreads.counts)] = shares
    return answer


def measure(
    spreads: Spreads, calibration: Calibration, plans: Sequence[str], seed: int = 1
) -> Likeness:
    """Compare people's choices with the agents' of their Elo, and with bots that play by plans."""
    plays = as_bots_play(spreads, plans)
    path = calibration.map.path
    assert spreads.rating is not None
    prepared = prepare(spreads, path.model)
    said = evaluate(path.model, prepared, path.theta(spreads.rating), probabilities=True)
    p, loss = said.probabilities, prepared.loss
    starts = spreads.offsets[:-1]
    chosen = starts + spreads.chosen
    likeliest = _argmax(p, spreads)
    rows, slips = [], []
    rng = np.random.default_rng(seed)
    for low, high in itertools.pairwise(BANDS):
        inside = (spreads.rating >= low) & (spreads.rating < high)
        if inside.sum() < LEAST_BAND:
            continue
        games = spreads.groups[inside]
        best = (spreads.chosen == 0)[inside].astype(float)
        like = (chosen == likeliest)[inside].astype(float)
        band = f"{low}-{high}"
        lost = np.minimum(loss[chosen], 10.0)
        skill = _skill_of(spreads.take(inside), float(lost[inside].mean()), rng)
        rows.append(
            {
                "band": band,
                "turns": int(inside.sum()),
                "best": best.mean(),
                "likeliest": like.mean(),
                "gain": (like - best).mean(),
                "gain_se": _error(like - best, games),
                "sampled": np.exp(said.ln_chosen[inside]).mean(),
                "log_loss": -said.ln_chosen[inside].mean(),
                "played": plays[chosen][inside].mean(),
                "played_log_loss": -np.log(plays[chosen][inside]).mean(),
                "loss": lost[inside].mean(),
                "loss_bot": _expected(np.minimum(loss, 10.0), p, spreads)[inside].mean(),
                "loss_played": _expected(np.minimum(loss, 10.0), plays, spreads)[inside].mean(),
                "skill_level": skill["level"],
                "skill_loss": skill["loss"],
                "skill_match": skill["match"],
            }
        )
        for limit in SLIPS:
            over = loss >= limit - 1e-9
            actual = over[chosen][inside].astype(float)
            projected = _expected(over.astype(float), p, spreads)[inside]
            slips.append(
                {
                    "band": band,
                    "pawns": limit,
                    "turns": int(inside.sum()),
                    "people": actual.mean(),
                    "people_se": _error(actual, games),
                    "bot": projected.mean(),
                    "played": _expected(over.astype(float), plays, spreads)[inside].mean(),
                    "z": (actual - projected).mean() / _error(actual - projected, games),
                    "skill": skill[f"slips {limit}"],
                }
            )
    over = loss >= 1.0 - 1e-9
    actual = over[chosen].astype(float)
    projected = _expected(over.astype(float), p, spreads)
    tenth = np.searchsorted(np.quantile(said.entropy, np.arange(0.1, 1.0, 0.1)), said.entropy)
    parts = []
    chi2 = 0.0
    for number in range(10):
        here = tenth == number
        error = _error(actual[here] - projected[here], spreads.groups[here])
        parts.append(
            {
                "tenth": number + 1,
                "entropy": said.entropy[here].mean(),
                "people": actual[here].mean(),
                "bot": projected[here].mean(),
                "se": error,
            }
        )
        chi2 += ((actual[here] - projected[here]).mean() / error) ** 2
    answer = (chi2, 10, float(stats.chi2.sf(chi2, 10)))
    return Likeness(pl.DataFrame(rows), pl.DataFrame(slips), pl.DataFrame(parts), answer)


def _argmax(p: Floats, spreads: Spreads) -> npt.NDArray[np.int64]:
    top = np.repeat(np.maximum.reduceat(p, spreads.offsets[:-1]), spreads.counts)
    places = np.flatnonzero(p == top)
    decision = np.searchsorted(spreads.offsets, places, side="right") - 1
    first = np.unique(decision, return_index=True)[1]
    return places[first]


def _expected(values: Floats, p: Floats, spreads: Spreads) -> Floats:
    answer: Floats = np.add.reduceat(values * p, spreads.offsets[:-1])
    return answer


def _error(values: Floats, groups: npt.NDArray[np.int64]) -> float:
    """Standard error of a mean, clustered by game."""
    _, index = np.unique(groups, return_inverse=True)
    sums = np.bincount(index, weights=values - values.mean())
    return float(np.sqrt((sums**2).sum())) / len(values)


def _skill_of(spreads: Spreads, loss: float, rng: np.random.Generator) -> dict[str, float]:
    """Stockfish's Skill Level rule at the level whose average loss is nearest."""
    levels = [_skill(spreads, level, rng) for level in range(len(spreads.depths))]
    return min(levels, key=lambda each: abs(each["loss"] - loss))


def _skill(spreads: Spreads, level: int, rng: np.random.Generator) -> dict[str, float]:
    """Re-run the rule (Stockfish 15.1, `Skill::pick_best`): four lines at depth 1 + level."""
    assert spreads.depth_values is not None
    weakness = 120 - 2 * level
    lost, match = [], []
    for decision in range(len(spreads)):
        a, b = spreads.offsets[decision : decision + 2]
        final = spreads.values[a:b]
        shallow = spreads.depth_values[a:b, min(level, len(spreads.depths) - 1)]
        order = np.argsort(-np.nan_to_num(shallow, nan=-1e6), kind="stable")[:4]
        scores = shallow[order] * 100 * _INTERNAL
        delta = min(scores[0] - scores[-1], _PAWN)
        noise = rng.integers(0, weakness, size=(_DRAWS, len(order)))
        push = np.floor((weakness * (scores[0] - scores) + delta * noise) / 128)
        # The last of equal ones wins, as there.
        worth = (scores + push)[:, ::-1]
        picks = order[len(order) - 1 - worth.argmax(axis=1)]
        lost.append(np.minimum(final[0] - final[picks], 10.0))
        match.append((picks == spreads.chosen[decision]).mean())
    table = np.array(lost)
    answer = {"level": float(level), "loss": float(table.mean()), "match": float(np.mean(match))}
    return answer | {f"slips {limit}": float((table >= limit - 1e-9).mean()) for limit in SLIPS}


def slips_as_played(spreads: Spreads, plans: Sequence[str]) -> list[dict[str, Any]]:
    """Return how often people slip and how often bots of their Elos do, by band of Elo."""
    assert spreads.rating is not None
    plays = as_bots_play(spreads, plans)
    starts = spreads.offsets[:-1]
    values = mate_ladder(spreads.values)
    loss = np.repeat(np.maximum.reduceat(values, starts), spreads.counts) - values
    rows = []
    for low, high in itertools.pairwise(BANDS):
        inside = (spreads.rating >= low) & (spreads.rating < high)
        if inside.sum() < LEAST_BAND:
            continue
        for limit in SLIPS:
            over = (loss >= limit - 1e-9).astype(float)
            people = over[starts + spreads.chosen][inside]
            bots = _expected(over, plays, spreads)[inside]
            rows.append(
                {"band": f"{low}-{high}", "pawns": limit, "turns": int(inside.sum())}
                | {"people": people.mean(), "people_se": _error(people, spreads.groups[inside])}
                | {"played": bots.mean()}
            )
    return rows


def whole_games(data: Path, work: Path) -> pl.DataFrame:
    """Return the decisions of the whole games of 1976 to 2009."""
    store = mp.open_store(work / "whole-games", create=True)
    scored = pl.read_parquet(data / "analysis" / "whole_games.parquet")
    if not store.files():
        import_shared(scored, store)
    files = scored.select("period", "milepost").unique().sort("period", "milepost")
    parts = []
    for period, milepost in files.iter_rows():
        turns, _ = mp.read_turns(data / "mileposts" / period / f"{milepost}.pgn")
        # Stray turns of other games, from openings that were played twice, are left out.
        table = mp.decisions(turns, store, plan="quick").table
        many = table.group_by("game_id").len().filter(pl.col("len") >= LEAST_TURNS)
        kept = table.join(many, on="game_id", how="semi")
        parts.append(kept.with_columns(pl.concat_str(pl.lit(f"{period} "), "game_id")))
    return pl.concat(parts, how="diagonal_relaxed")


def quick_turns(data: Path, work: Path, store: Path) -> pl.DataFrame:
    """Return the decisions that quick has evaluated and that nothing was fitted to."""
    parts = [whole_games(data, work)]
    for name in WEAK_EVENTS:
        turns, _ = mp.read_turns(data / "events" / name)
        parts.append(mp.decisions(turns, store, plan="quick").table)
    return pl.concat(parts, how="diagonal_relaxed")


def played_turns(data: Path, work: Path) -> pl.DataFrame:
    """Return decisions that made no playing map."""
    parts = [whole_games(data, work)]
    for name in MAPLESS_EVENTS:
        turns, _ = mp.read_turns(data / "events" / name)
        parts.append(mp.decisions(turns, data / "analysis" / "events", plan="quick").table)
    return pl.concat(parts, how="diagonal_relaxed")


def bullet_turns(paths: Sequence[Path], store: Path) -> pl.DataFrame:
    """Return the decisions of tables of turns that bullet has evaluated."""
    parts = []
    for path in paths:
        frame = pl.read_parquet(path)
        parts.append(frame.with_columns(pl.concat_str(pl.lit(path.stem), "game_id")))
    turns = pl.concat(parts, how="diagonal_relaxed")
    return mp.decisions(turns, store, plan="bullet").table


def main() -> None:
    """Measure, print, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("plan", choices=("quick", "bullet", "played"))
    parser.add_argument("--turns", type=Path, nargs="+", default=[])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("bot-study"))
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.plan != "played" and given.store is None:
        parser.error("quick and bullet need --store")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        if given.plan == "quick":
            table = quick_turns(given.data, given.work, given.store)
        elif given.plan == "played":
            table = played_turns(given.data, given.work)
        else:
            table = bullet_turns(given.turns, given.store)
    table = table.filter(pl.col("mover_elo").is_not_null())
    spreads = replace(Spreads.from_table(table), places=None)
    assert spreads.rating is not None
    plans = ["bullet" if given.plan == "bullet" else _plan_at(elo) for elo in spreads.rating]
    if given.plan == "played":
        told = slips_as_played(spreads, plans)
        BOT.keep("slips as played", {"turns": len(spreads), "rows": told})
        with pl.Config(tbl_rows=-1):
            sys.stdout.write(f"{pl.DataFrame(told)}\n")
        return
    found = measure(spreads, load_calibration(f"stockfish15.1-{given.plan}"), plans)
    kept: dict[str, Any] = {"turns": len(spreads), "games": len(np.unique(spreads.groups))}
    kept |= {"inputs": sorted(path.stem for path in given.turns) or ["whole_games", *WEAK_EVENTS]}
    kept |= {"chi2": list(found.chi2), "bands": found.bands.to_dicts()}
    kept |= {"slips": found.slips.to_dicts(), "entropy": found.entropy.to_dicts()}
    BOT.keep(f"likeness {given.plan}", kept)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, float_precision=4):
        sys.stdout.write(
            f"{len(spreads):,} turns\n{found.bands}\n{found.slips}\n{found.entropy}\n"
            f"chi2 {found.chi2}\n"
        )


def _plan_at(elo: float) -> str:
    """The cheapest plan that plays at an Elo or, above all, the one with the highest map."""
    last = max(each.range[1] for each in playing_maps().values())
    first = min(each.range[0] for each in playing_maps().values())
    return cheapest_plan(min(max(elo, first), last))


if __name__ == "__main__":
    main()
