"""How human the bot is, on human turns that no calibration has seen.

    python -m studies.bot_likeness --turns TURNS... --store DIR [--plan bullet] [--output DIR]

For each band of Elo: how often people play the engine's best move and the agent's likeliest one,
the log-loss, and the share of turns that give away 0.5, 1, 2, 3 pawns or more, people's beside the
agent's, with standard errors by game. As contrast the rule of Stockfish's ``Skill Level`` on the
same values, at the level whose average loss is nearest to people's. *played* is how the bot plays,
by its playing map: sharper, since it must make up for what the plan does not see. At last, whether
slips fall where they fall for people: by tenths of the agent's entropy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

import milepost as mp
from milepost.choice.evaluation.evaluate import evaluate, ln_probabilities, prepare
from milepost.choice.spreads import Floats, Spreads
from milepost.errors import MissingEvaluationsWarning
from milepost.intrinsic.calibration.calibration import (
    Calibration,
    calibration_for,
    load_calibration,
)
from milepost.intrinsic.choosing.judge import normalised
from milepost.intrinsic.choosing.playing import playing_maps

SLIPS = (0.5, 1.0, 2.0, 3.0)
BANDS = (1400, 1700, 1900, 2100, 2300, 2500, 2900)
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


def as_played(spreads: Spreads, calibration: Calibration) -> Floats:
    """Return how the bot would play, by the playing map of the calibration's set-up.

    Without a map, or above its end, it plays as the agents choose or as at the end.
    """
    path, playing = calibration.map.path, playing_maps().get(calibration.setup)
    assert spreads.rating is not None
    rules = [(elo, 1.0) if playing is None else playing.rule(elo) for elo in spreads.rating]
    agent, sharpness = np.array(rules).T
    ln_p = ln_probabilities(path.model, prepare(spreads, path.model), path.theta(agent))
    return normalised(ln_p, spreads, sharpness)


def measure(spreads: Spreads, calibration: Calibration, seed: int = 1) -> Likeness:
    """Compare people's choices with the agents' of their Elo."""
    plays = as_played(spreads, calibration)
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
        if inside.sum() < 200:
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


def draw(slips: pl.DataFrame, path: Path) -> None:
    """Draw how often people, the bot and Stockfish's Skill Level slip, by Elo."""
    import altair as alt

    columns = [pl.col("band"), pl.format("{} pawns or more", pl.col("pawns")).alias("limit")]
    lines = pl.concat(
        slips.select(
            *columns,
            (100 * pl.col(name)).alias("share"),
            (100 * (pl.col(name) - 2 * pl.col("people_se"))).clip(0).alias("low"),
            (100 * (pl.col(name) + 2 * pl.col("people_se"))).alias("high"),
            pl.lit(who).alias("who"),
        )
        for name, who in (("people", "people"), ("bot", "bot"), ("skill", "Skill Level"))
    )
    colours = alt.Scale(
        domain=["people", "bot", "Skill Level"], range=["#1b6ca8", "#d1495b", "#9a9a9a"]
    )
    x = alt.X("band:N", title="Elo", axis=alt.Axis(labelAngle=-40))
    y = alt.Y("share:Q", title="% of turns")
    base = alt.Chart(lines).encode(x=x, color=alt.Color("who:N", title=None, scale=colours))
    bars = base.mark_rule().encode(y=alt.Y("low:Q", title="% of turns"), y2="high:Q")
    bars = bars.transform_filter("datum.who == 'people'")
    chart = (base.mark_line(point=True).encode(y=y) + bars).properties(width=170, height=170)
    chart = chart.facet(alt.Facet("limit:N", title=None), columns=2).resolve_scale(y="independent")
    chart.save(str(path))


def main() -> None:
    """Measure, print, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--turns", type=Path, nargs="+", required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--plan", default="bullet")
    parser.add_argument("--output", type=Path, default=Path("bot-study"))
    given = parser.parse_args()
    parts = []
    for path in given.turns:
        frame = pl.read_parquet(path)
        parts.append(frame.with_columns(pl.concat_str(pl.lit(path.stem), "game_id")))
    turns = pl.concat(parts, how="diagonal_relaxed").filter(pl.col("mover_elo").is_not_null())
    setups = mp.open_store(given.store).known_setups()
    setup = next(key for key, about in setups.items() if about["plan"].startswith(given.plan))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingEvaluationsWarning)
        found = mp.decisions(turns, given.store, setup=setup)
    calibration = load_calibration(calibration_for(found.setup))
    likeness = measure(Spreads.from_table(found.table), calibration)
    given.output.mkdir(parents=True, exist_ok=True)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, float_precision=4):
        sys.stdout.write(
            f"{calibration.name}: {len(found):,} turns\n{likeness.bands}\n{likeness.slips}\n"
            f"{likeness.entropy}\nchi2 {likeness.chi2}\n"
        )
    draw(likeness.slips, given.output / f"slips-{given.plan}.svg")
    likeness.bands.write_csv(given.output / f"likeness-{given.plan}.csv")
    likeness.slips.write_csv(given.output / f"slips-{given.plan}.csv")
    likeness.entropy.write_csv(given.output / f"entropy-{given.plan}.csv")
    text = json.dumps({"chi2": likeness.chi2, "turns": len(found)})
    (given.output / f"chi2-{given.plan}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
