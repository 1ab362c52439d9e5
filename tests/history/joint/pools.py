"""Simulated pools of players with results and moves, for tests and studies.

Everything is in Elo units: skills are drawn there, results follow from them with a normal noise of
329 a game (beta 329 / sqrt 2), and a site is the intrinsic skill plus offset, form and turns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

BETA = 329.0 / np.sqrt(2.0)
TRUTHS = ("newcomers rise", "everybody rises", "beginners improve")


@dataclass(frozen=True)
class Pool:
    """One simulated pool."""

    results: pl.DataFrame
    """time, player_1, player_2, score."""
    truth: pl.DataFrame
    """player, time, skill: who was active, and how strong."""


def pool(
    rng: np.random.Generator, truth: str, *, active: int = 400, years: int = 40,
    games: int = 4000, career: float = 12.0, sigma: float = 200.0, drift: float = 20.0,
    rise: float = 90.0, near: bool = True,
) -> Pool:  # fmt: skip
    """Simulate careers and results.

    Parameters
    ----------
    rng
        The randomness.
    truth
        Newcomers rise: each year's newcomers are better, `rise` in all. Everybody rises: all skills
        move up together. Beginners improve: newcomers begin 100 below and gain it in four years,
        so that the level stays. Level wanders: all skills move together, 25 a year at random, as
        the default walk of an era expects.
    active, years, games
        Players at a time, periods, games a year.
    career
        Mean length of a career, years.
    sigma, drift
        Of newcomers; of a year.
    rise
        How much the level rises from the first year to the last.
    near
        Whether opponents are of about one's own strength, as in tournaments; else anybody.
    """
    number, wandered = 0, 0.0
    apart_by = 150.0 if near else 1e6
    alive: list[tuple[int, float, int]] = []
    rows, truths = [], []
    for year in range(years):
        share = year / (years - 1)
        alive = [each for each in alive if rng.random() > 1.0 / career]
        if truth == "beginners improve":
            alive = [(i, x + (25.0 if year - born <= 4 else 0.0), born) for i, x, born in alive]
        alive = [(i, x + drift * rng.normal(), born) for i, x, born in alive]
        while len(alive) < active:
            base = rise * share if truth == "newcomers rise" else 0.0
            born = year
            behind = 100.0 if truth == "beginners improve" else 0.0
            if year == 0:  # careers under way
                born = -int(rng.integers(0, int(career)))
                behind = max(0.0, behind - 25.0 * min(-born, 4))
            alive.append((number, base - behind + sigma * rng.normal(), born))
            number += 1
        if truth == "level wanders":
            wandered += 25.0 * rng.normal()
        up = rise * share if truth == "everybody rises" else wandered
        skill = np.array([x for _, x, _ in alive]) + up
        names = np.array([i for i, _, _ in alive])
        order = np.argsort(skill + apart_by * rng.normal(size=len(skill)))
        for _ in range(-(-2 * games // len(skill))):
            start = int(rng.integers(0, 2))
            line = order.copy()
            swap = rng.permutation(len(line) // 10)
            line[swap] = line[np.sort(swap)]
            ones, twos = line[start:-1:2], line[start + 1 :: 2]
            size = min(len(ones), len(twos))
            ones, twos = ones[:size], twos[:size]
            apart = skill[ones] - skill[twos] + np.sqrt(2.0) * BETA * rng.normal(size=size)
            score = np.where(np.abs(apart) < 100.0, 0.5, np.where(apart > 0, 1.0, 0.0))
            rows.append((np.full(size, year), names[ones], names[twos], score))
            order = np.argsort(skill + apart_by * rng.normal(size=len(skill)))
        truths.append((np.full(len(skill), year), names, skill))
    years_, ones_, twos_, scores = (np.concatenate(each) for each in zip(*rows, strict=True))
    results = pl.DataFrame({
        "time": years_, "player_1": _names(ones_), "player_2": _names(twos_), "score": scores,
    })  # fmt: skip
    when, who, skills = (np.concatenate(each) for each in zip(*truths, strict=True))
    return Pool(results, pl.DataFrame({"player": _names(who), "time": when, "skill": skills}))


def sites_of(
    rng: np.random.Generator, truth: pl.DataFrame, *, share: float, games: int = 1,
    turns: int = 33, spread: float = 182.0, form: float = 157.0, turn_sd: float = 1600.0,
    level: float = 2000.0, slope: float = 1.0,
) -> pl.DataFrame:  # fmt: skip
    """Simulate sites of a share of the player-years: `games` of `turns` turns each.

    `turn_sd` is what one turn leaves open; 1600 makes 250 turns ± 101 as real ones have.
    """
    chosen = truth.filter(pl.Series(rng.random(truth.height) < share))
    players = chosen["player"].unique().sort()
    offset = dict(zip(players, spread * rng.normal(size=len(players)), strict=True))
    size = chosen.height
    own = np.array([offset[player] for player in chosen["player"]])
    per_game = turn_sd**2 / turns + form**2
    noise = np.sqrt(per_game / games) * rng.normal(size=size)
    expected = level + slope * chosen["skill"].to_numpy()
    information = turns / turn_sd**2
    return chosen.select("player", "time").with_columns(
        reference=pl.Series(expected),
        site=pl.Series(expected + own + noise),
        information=pl.lit(games * information),
        dispersion=pl.lit(1.0),
        n=pl.lit(games * turns),
        games=pl.lit(games),
        form_information=pl.lit(games / per_game),
        game_information=pl.lit([information] * games),
        player_sd=pl.lit(spread),
        form_sd=pl.lit(form),
        setup=pl.lit("simulated"),
        design=pl.lit("random"),
    )


def _names(numbers: np.ndarray) -> pl.Series:
    return pl.Series([f"p{number:06d}" for number in numbers])
