"""Everything about one performance: figures, evidence, chance, power, and what hangs on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from milepost.choice.spreads import Floats, Ints
from milepost.fairplay.deep.look import DeepTest, deep_test, ln_mean
from milepost.fairplay.evidence import menu
from milepost.fairplay.evidence.ratio import ShareOfTurns, shares_of_turns, without_each_turn
from milepost.fairplay.evidence.simulate import (
    DRAWS,
    PowerCell,
    Simulator,
    power_table,
    weighed_draws,
)
from milepost.fairplay.exclusions import Variant
from milepost.fairplay.performances import Performance, make_board, performance
from milepost.fairplay.screen import LEAST_TURNS, Index, screen
from milepost.intrinsic.calibration.player_variation import PUBLISHED_AD, PUBLISHED_MM
from milepost.io.progress import Report

LEAST_TURNS_FULL: Final = 150
"""The full test wants so many turns."""
LEAST_GAMES_FULL: Final = 5
"""And so many games."""
PRIOR_ODDS: Final = (1 / 10_000, 1 / 1_000, 1 / 50)
"""Odds of help before the games are looked at, for the table of posteriors."""


@dataclass(frozen=True)
class Chance:
    """How often honest play gives as much evidence."""

    p: float
    """The larger of the two that follow."""
    p_simulated: float
    """By simulated honest players on just these turns."""
    p_simulated_se: float
    """Its standard error."""
    p_reference: float | None
    """Among honest performances that were measured; None = there are none."""
    reference: int
    """How many of these there are."""
    floor: float | None
    """The smallest p that so many can give."""
    draws: int
    """Simulated performances."""


@dataclass(frozen=True, eq=False)
class FullTest:
    """The full test of one performance."""

    performance: Performance
    """Whose."""
    index: Index
    """As in the screening."""
    figures: pl.DataFrame
    """One row a figure (match, error, likelihood, all three): `figure`, `actual` and `expected`
    rates a turn, `z_raw`, `z_adjusted`, `z_published` (null where none was published)."""
    correlation: Floats
    """Of the three figures among honest players, 3 × 3."""
    alternatives: pl.DataFrame
    """One row a schedule and assistant: `schedule`, `assistant`, `weight`, `ln_ratio` (of the mean
    over the shares)."""
    chance: Chance
    """p."""
    shares: tuple[ShareOfTurns, ...]
    """The share of helped turns, by assistant."""
    power: tuple[PowerCell, ...]
    """What would have been noticed."""
    sensitivity: pl.DataFrame
    """One row a variant: `variant`, `turns`, `games`, `z`, `index`, `ln_e`, `ln_e_worst`, `match`,
    `error` (adjusted z) and `reason` where it could not be worked out."""
    sequence: pl.DataFrame
    """One row a game as played: `game_id`, `round`, `opponent`, `turns`, `ln_e` (as reported),
    `ln_e_worst` (without the deep look), both after that game."""
    trace: pl.DataFrame
    """One row a turn: `game_id`, `move_number`, `colour`, `played`, `probability` (for an agent of
    this rating), `likeliest` (the greatest probability), `expected_error`, `error`, `adds` (to
    ln E)."""
    posterior: pl.DataFrame
    """One row a prior: `prior_odds`, `posterior_odds`, `posterior_probability`."""
    too_little: str
    """Why this is less than a full test wants; empty = it is enough."""
    deep: DeepTest | None = None
    """The deep look; None = there was none."""

    @property
    def ln_e(self) -> float:
        """Logarithm of the evidence ratio that is reported.

        With a deep look that enough honest performances stand behind, the mean of both ratios: the
        mean of two e-values is one, whatever they have to do with each other.
        """
        return _reported(self.index.ln_e, self.deep)

    @property
    def p(self) -> float:
        """How often honest play gives as much evidence.

        Where the deep look counts, twice the smaller p of the two ratios: of two looks at the same
        games the luckier one may be taken only at that price (Bonferroni).
        """
        if self.deep is None or not self.deep.pull.counts:
            return self.chance.p
        return min(1.0, 2 * min(self.chance.p, self.deep.p))

    @property
    def all_power(self) -> tuple[PowerCell, ...]:
        """What would have been noticed, without and with the deep look."""
        return self.power if self.deep is None else (*self.power, *self.deep.power)


def _reported(ln_e: float, deep: DeepTest | None) -> float:
    return ln_e if deep is None or not deep.pull.counts else deep.ln_e_both


def _with_deep(rounds: pl.DataFrame, deep: DeepTest | None) -> pl.DataFrame:
    """Games with the ratio that is reported after each."""
    if deep is None or not deep.pull.counts:
        return rounds
    pairs = zip(rounds["ln_e"], deep.sequence, strict=True)
    return rounds.with_columns(pl.Series("ln_e", [ln_mean(*pair) for pair in pairs]))


def full_test(
    real: Performance,
    rng: np.random.Generator,
    *,
    deep: Ints | None = None,
    variants: Sequence[Variant] = (),
    other_ratings: Mapping[str, float] | None = None,
    prior_odds: Sequence[float] = PRIOR_ODDS,
    draws: int = DRAWS,
    progress: Report | None = None,
) -> FullTest:
    """Test one performance in full.

    Parameters
    ----------
    real
        The performance.
    rng
        The source of chance of the simulation.
    deep
        The option that a deep search prefers on each turn, -1 where it is not known.
    variants
        Ways to leave turns out, for the sensitivity table.
    other_ratings
        Further ratings to try there, by what they are called (the rating after the event, say).
    prior_odds
        Odds of help beforehand, for the table of posteriors.
    draws
        Honest performances to simulate, and as many helped ones.
    progress
        Called while simulating.
    """
    simulator = Simulator(real)
    drawn = weighed_draws(simulator, rng, draws, progress=progress)
    ln_e = real.evidence.ln_e
    reference = real.board.honest.reference
    simulated, error = drawn.tail("ln_e", ln_e)
    # No tail is known to be smaller than one draw's weight at this place.
    simulated = max(simulated, float(np.exp(-max(ln_e, 0.0))) / len(drawn.ln_e))
    among = reference.share_above("ln_e", ln_e) if len(reference.ln_e) else None
    chance = Chance(
        p=max(simulated, among or 0.0),
        p_simulated=simulated,
        p_simulated_se=error,
        p_reference=among,
        reference=len(reference.ln_e),
        floor=reference.evidence_floor if len(reference.ln_e) else None,
        draws=len(drawn.ln_e),
    )
    pull = real.board.honest.deep
    looked = None
    if deep is not None and pull is not None:
        # Chance of its own: the other figures are the same with and without the deep look.
        looked = deep_test(
            real, deep, pull, rng.spawn(1)[0], draws=max(draws // 4, 20), progress=progress
        )
    return FullTest(
        performance=real,
        index=screen(real),
        figures=figures(real),
        correlation=real.scored.correlation,
        alternatives=alternatives(real),
        chance=chance,
        shares=tuple(shares_of_turns(real.turns, real.chosen, list(real.board.assistants))),
        power=tuple(
            power_table(simulator, drawn, rng, draws=max(draws // 10, 20), progress=progress)
        ),
        sensitivity=sensitivity(real, variants, other_ratings or {}),
        sequence=_with_deep(sequence(real), looked),
        trace=trace(real),
        posterior=posterior(_reported(ln_e, looked), prior_odds),
        too_little=too_little(real),
        deep=looked,
    )


def too_little(real: Performance) -> str:
    """Return why a performance is less than a full test wants; empty = it is enough."""
    lacking = []
    if len(real) < LEAST_TURNS_FULL:
        lacking.append(f"{len(real)} turns where {LEAST_TURNS_FULL} are wanted")
    if real.games < LEAST_GAMES_FULL:
        lacking.append(f"{real.games} games where {LEAST_GAMES_FULL} are wanted")
    return ", ".join(lacking)


def figures(real: Performance) -> pl.DataFrame:
    """Return the three figures and the one made of them."""
    scores, scored, count = real.board.scores, real.scored, len(real)
    actual = scores.chosen[real.rows].sum(axis=0) / count
    expected = scores.expected[real.rows].sum(axis=0) / count
    sign = np.array([1.0, -1.0, 1.0])
    published = [scored.raw[0] / PUBLISHED_MM, scored.raw[1] / PUBLISHED_AD, None]
    return pl.DataFrame(
        {
            "figure": ["match", "error", "likelihood", "all three"],
            "actual": [*(sign * actual).tolist(), None],
            "expected": [*(sign * expected).tolist(), None],
            "z_raw": [*scored.raw.tolist(), None],
            "z_adjusted": [*scored.adjusted.tolist(), scored.combined],
            "z_published": [*(None if x is None else float(x) for x in published), None],
        },
        schema_overrides={"z_published": pl.Float64},
    )


def alternatives(real: Performance) -> pl.DataFrame:
    """Return what each alternative of the menu says, the shares averaged."""
    table = real.evidence.ln_alternatives
    names = real.board.assistants
    weights = menu.weights(len(names) - len(menu.HELPERS)).sum(axis=2)
    top = table.max(axis=2, keepdims=True)
    means = np.log(np.exp(table - top).mean(axis=2)) + top[:, :, 0]
    return pl.DataFrame(
        [
            {
                "schedule": when,
                "assistant": who,
                "weight": float(weights[i, j]),
                "ln_ratio": float(means[i, j]),
            }
            for i, when in enumerate(menu.SCHEDULES)
            for j, who in enumerate(names)
        ]
    )


def sensitivity(
    real: Performance, variants: Sequence[Variant], other_ratings: Mapping[str, float]
) -> pl.DataFrame:
    """Return the statistics under every variant; each one was fixed before looking."""
    board = real.board
    rows = [_sensitivity_row("as analysed", real)]
    mine = (board.table["mover"] == real.player).to_numpy()
    for variant in variants:
        if variant.name == rows[0]["variant"]:
            continue
        keep = None if variant.mask is None else variant.mask.to_numpy()
        left = 0 if keep is None else int((mine & keep).sum())
        if keep is None or left < LEAST_TURNS:
            reason = variant.reason or f"{left} turns are left: too few"
            rows.append(_no_row(variant.name, left, reason))
            continue
        part = performance(board, real.player, rating_sd=real.rating_sd, keep=keep)
        rows.append(_sensitivity_row(variant.name, part))
    own = board.table.filter(pl.col("mover") == real.player)
    for name, rating in other_ratings.items():
        table = own.with_columns(pl.lit(round(rating), dtype=pl.Int32).alias("mover_elo"))
        other = make_board(table, board.calibration, board.honest)
        rows.append(
            _sensitivity_row(
                f"{name}: {rating:.0f}",
                performance(other, real.player, rating_sd=real.rating_sd),
            )
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _sensitivity_row(name: str, part: Performance) -> dict[str, object]:
    scored = part.scored
    return {
        "variant": name,
        "turns": len(part),
        "games": part.games,
        "z": scored.combined,
        "index": 50 + 5 * scored.combined,
        "ln_e": part.evidence.ln_e,
        "ln_e_worst": part.evidence.ln_e_worst,
        "match": float(scored.adjusted[0]),
        "error": float(scored.adjusted[1]),
        "reason": "",
    }


def _no_row(name: str, turns: int, reason: str) -> dict[str, object]:
    empty = dict.fromkeys(("z", "index", "ln_e", "ln_e_worst", "match", "error"))
    return {"variant": name, "turns": turns, "games": None, **empty, "reason": reason}


def sequence(real: Performance) -> pl.DataFrame:
    """Return the evidence after each game, carried forward."""
    table = real.board.table[real.rows]
    rows = []
    for game, after in enumerate(real.follow()):
        first = int(real.turns.starts[game])
        turn = table.row(first, named=True)
        rows.append(
            {
                "game_id": turn["game_id"],
                "round": turn.get("round"),
                "opponent": turn.get("opponent"),
                "turns": int(real.turns.starts[game + 1]) - first,
                "ln_e": after.ln_e,
                "ln_e_worst": after.ln_e_worst,
            }
        )
    return pl.DataFrame(
        rows,
        schema_overrides={"round": pl.String, "opponent": pl.String},
        infer_schema_length=None,
    )


def trace(real: Performance) -> pl.DataFrame:
    """Return what each turn says, in the order of the games. Single moves are not evidence."""
    board, rows = real.board, real.rows
    offsets, chosen = board.spreads.offsets, board.spreads.chosen
    p = board.scores.probabilities
    likeliest = np.maximum.reduceat(p, offsets[:-1])
    known = [name for name in ("game_id", "move_number", "colour", "played") if name in board.table]
    return (
        board.table[rows]
        .select(known)
        .with_columns(
            pl.Series("probability", p[(offsets[:-1] + chosen)[rows]]),
            pl.Series("likeliest", likeliest[rows]),
            pl.Series("expected_error", board.scores.error[rows]),
            pl.Series("error", -board.scores.chosen[rows, 1]),
            pl.Series("adds", without_each_turn(real.turns, real.chosen)),
        )
    )


def posterior(ln_e: float, prior_odds: Sequence[float]) -> pl.DataFrame:
    """Return what odds become: a table over what was thought before, never one number."""
    ratio = float(np.exp(min(ln_e, 600.0)))
    after = [odds * ratio for odds in prior_odds]
    return pl.DataFrame(
        {
            "prior_odds": list(prior_odds),
            "posterior_odds": after,
            "posterior_probability": [odds / (1 + odds) for odds in after],
        }
    )
