"""How much more real players vary than the agents do: the parts that an interval must contain.

With u the derivative of a decision's log-likelihood by the rating at the player's own Elo, and I
its expected information, an agent has E u = 0, Var u = I, and independent decisions. Real players
differ in three ways, each measured by moments:

- *dispersion* φ = Σ u² / Σ I: single decisions vary more (or less) than the agents' do;
- *form* ω_g: one player's strength differs from game to game; two decisions of one game then have
  E u u' = I I' (ω_p² + ω_g²);
- *players* ω_p: players of equal Elo differ in strength; two decisions of one player in different
  games have E u u' = I I' ω_p².

The errors of these come from leaving out one player at a time.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from milepost.choice.evaluation.evaluate import Prepared, evaluate
from milepost.choice.spreads import Floats, Ints
from milepost.errors import InputError
from milepost.intrinsic.calibration.paths import AgentPath
from milepost.intrinsic.rating.likelihood_grid import Ladder

PUBLISHED_MM, PUBLISHED_AD = 1.15, 1.4
"""Factors of the spread of z, from `ipr_math`, section 6 (source: ACG13 and the compendium)."""
LEAST_TURNS = 60
"""Players with fewer turns do not count for the factors of z."""
LEAST_PLAYERS = 10
"""With fewer players the published factors are used."""
FORM_IF_UNKNOWN = 150.0
PLAYERS_IF_UNKNOWN = 100.0
"""Where the calibration has no player with two decisions: rather too wide than too narrow."""


@dataclass(frozen=True)
class Spread:
    """How real players vary about the agents of their Elo."""

    dispersion: float
    """φ, a factor of the variance of single decisions."""
    dispersion_se: float
    """Its standard error."""
    form_sd: float
    """ω_g, from game to game, in rating points."""
    form_variance_se: float
    """Standard error of ω_g², in points squared."""
    players_sd: float
    """ω_p, between players of equal Elo, in rating points."""
    players_variance_se: float
    """Standard error of ω_p², in points squared."""
    mm_factor: float
    """By how much z of the match rate varies more than under the agents."""
    mm_factor_se: float
    """Its standard error; 0 = published, not estimated."""
    ad_factor: float
    """The same for z of the scaled error."""
    ad_factor_se: float
    """Its standard error; 0 = published, not estimated."""
    players: int
    """Players that ω_p rests on: those with decisions in two games or more."""
    player_games: int
    """Games of players that ω_g rests on: those with two decisions or more."""
    measured_players: int
    """Players that the factors of z rest on."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Spread:
        """Make one of what `to_dict` gave.

        Raises
        ------
        InputError
            If a value is missing or no number.
        """
        try:
            given = {each.name: values[each.name] for each in fields(cls)}
            numbers = {name: float(value) for name, value in given.items()}
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no description of a spread: {error}") from error
        wrong = [
            name
            for name, value in numbers.items()
            if value < 0 or not (np.isfinite(value) or name.endswith("_se"))
        ]
        if wrong:
            raise InputError(f"this is no spread: {', '.join(wrong)} cannot be {given[wrong[0]]}")
        return cls(**given)


@dataclass(frozen=True, eq=False)
class AtOwnElo:
    """What the agents of the players' own Elo would do on some decisions, beside what was done."""

    first: Floats
    """Probability of the first option."""
    error: Floats
    """Expected scaled difference."""
    error_squared: Floats
    """Expected squared scaled difference."""
    first_slope: Floats
    """Derivative of `first` by the rating."""
    error_slope: Floats
    """Derivative of `error` by the rating."""
    hit: Floats
    """1 where the first option was chosen."""
    actual_error: Floats
    """Scaled difference of the choice."""
    weights: Floats
    """How much each decision counts."""


def at_own_elo(prepared: Prepared, path: AgentPath, own: Floats) -> AtOwnElo:
    """Evaluate the agents of the players' own Elo, once for all that is asked of them.

    Parameters
    ----------
    prepared
        The decisions, prepared for the path's model.
    path
        The agents.
    own
        The player's Elo, for each decision.
    """
    spreads = prepared.spreads
    evaluated = evaluate(path.model, prepared, path.theta(own))
    slopes = path.slope(own)
    return AtOwnElo(
        first=evaluated.first,
        error=evaluated.error,
        error_squared=evaluated.error_squared,
        first_slope=(evaluated.d_first * slopes).sum(axis=1),
        error_slope=(evaluated.d_error * slopes).sum(axis=1),
        hit=(spreads.chosen == 0).astype(np.float64),
        actual_error=prepared.delta[spreads.offsets[:-1] + spreads.chosen],
        weights=spreads.weights,
    )


def measure_spread(
    ladder: Ladder, said: AtOwnElo, own: Floats, players: Ints, games: Ints
) -> Spread:
    """Measure how real players vary about the agents of their Elo.

    Parameters
    ----------
    ladder
        The decisions at all ratings.
    said
        What the agents of each player's own Elo say of the same decisions.
    own
        The player's Elo, for each decision.
    players, games
        Codes of the player and of the game, for each decision.
    """
    u, information = ladder.scores(own) * ladder.weights, ladder.information_at(own)
    information = information * ladder.weights
    names = np.unique(players)
    at = np.searchsorted(names, players)
    # For each player: Σu², ΣI, pairs within games (u u', I I'), pairs over games.
    _, both = np.unique(np.stack([at, games]), axis=1, return_inverse=True)
    both = both.ravel()
    owner = np.zeros(both.max() + 1, dtype=np.int64)
    owner[both] = at
    sums = np.stack(
        [
            _add(at, u**2, len(names)),
            _add(at, information, len(names)),
            *(_add(owner, _pairs(both, each), len(names)) for each in (u, information)),
            *(_pairs(at, each) for each in (u, information)),
        ]
    )
    sums[4:] -= sums[2:4]
    dispersion, dispersion_se = _ratio(sums[0], sums[1])
    within, within_se = _ratio(sums[2], sums[3])
    between, between_se = _ratio(sums[4], sums[5])
    if not np.isfinite(between):
        between, between_se = PLAYERS_IF_UNKNOWN**2, float("nan")
    if not np.isfinite(within):
        within, within_se = between + FORM_IF_UNKNOWN**2, float("nan")
    mm, mm_se, ad, ad_se, measured = _z_factors(said, at, len(names))
    in_games = np.bincount(both)
    games_of = np.bincount(owner, minlength=len(names))
    return Spread(
        dispersion=dispersion,
        dispersion_se=dispersion_se,
        form_sd=float(np.sqrt(max(within - max(between, 0.0), 0.0))),
        form_variance_se=float(np.hypot(within_se, between_se)),
        players_sd=float(np.sqrt(max(between, 0.0))),
        players_variance_se=between_se,
        mm_factor=mm,
        mm_factor_se=mm_se,
        ad_factor=ad,
        ad_factor_se=ad_se,
        players=int((games_of > 1).sum()),
        player_games=int((in_games > 1).sum()),
        measured_players=measured,
    )


def z_values(said: AtOwnElo, codes: Ints, count: int) -> tuple[Floats, Floats]:
    """Return z of the match rate and of the scaled error of each group; both rise with skill."""
    weights = said.weights
    hits = _add(codes, weights * (said.hit - said.first), count)
    errors = _add(codes, weights * (said.error - said.actual_error), count)
    hit_variance = _add(codes, weights**2 * said.first * (1 - said.first), count)
    spread = np.maximum(said.error_squared - said.error**2, 0.0)
    error_variance = _add(codes, weights**2 * spread, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return hits / np.sqrt(hit_variance), errors / np.sqrt(error_variance)


def z_factors(
    said: AtOwnElo, spread: Spread, codes: Ints, count: int, *, players: Ints, games: Ints
) -> tuple[Floats, Floats]:
    """Return by how much z of each group varies more than under agents, given the spread.

    A player whose strength is off by x moves the expected hits of his turns by x Σ dp/dE; so the
    variance of a group's hits is Σ p (1 - p) + ω_p² Σ_players (Σ dp/dE)² + ω_g² Σ_games (Σ dp/dE)²;
    likewise for the error.
    """
    factors = []
    spare = np.maximum(said.error_squared - said.error**2, 0.0)
    for moves, variance in (
        (said.first_slope, said.first * (1 - said.first)),
        (said.error_slope, spare),
    ):
        pull = said.weights * moves
        total = _add(codes, said.weights**2 * variance, count)
        extra = np.zeros(count)
        for sd, members in ((spread.players_sd, players), (spread.form_sd, games)):
            # A player's game is one's own: pairs of group and member, and of player for games.
            keys = np.stack([codes, members, players])
            unique, inverse = np.unique(keys, axis=1, return_inverse=True)
            sums = _add(inverse.ravel(), pull, unique.shape[1])
            extra += sd**2 * _add(unique[0], sums**2, count)
        with np.errstate(invalid="ignore", divide="ignore"):
            factors.append(np.sqrt(np.where(total > 0, 1.0 + extra / total, 1.0)))
    return factors[0], factors[1]


def _z_factors(said: AtOwnElo, at: Ints, count: int) -> tuple[float, float, float, float, int]:
    mm, ad = z_values(said, at, count)
    enough = np.bincount(at, minlength=count) >= LEAST_TURNS
    if enough.sum() < LEAST_PLAYERS:
        return PUBLISHED_MM, 0.0, PUBLISHED_AD, 0.0, 0
    answer: list[float] = []
    for z in (mm[enough], ad[enough]):
        square, square_se = _ratio(z**2, np.ones(len(z)))
        answer += [float(np.sqrt(square)), float(square_se / (2 * np.sqrt(square)))]
    return answer[0], answer[1], answer[2], answer[3], int(enough.sum())


def _pairs(codes: Ints, values: Floats) -> Floats:
    """Σ over pairs of different decisions of one group of the products of their values."""
    size = int(codes.max()) + 1
    answer: Floats = (_add(codes, values, size) ** 2 - _add(codes, values**2, size)) / 2
    return answer


def _add(codes: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)


def _ratio(tops: Floats, bottoms: Floats) -> tuple[float, float]:
    """Σ tops / Σ bottoms, with its standard error by leaving out one at a time."""
    top, bottom = float(tops.sum()), float(bottoms.sum())
    if not bottom > 0:
        return float("nan"), float("nan")
    counts = bottoms > 0
    without = (top - tops[counts]) / np.maximum(bottom - bottoms[counts], 1e-300)
    n = int(counts.sum())
    if n < 2:
        return top / bottom, float("nan")
    spread = (n - 1) / n * float(((without - without.mean()) ** 2).sum())
    return top / bottom, float(np.sqrt(spread))
