"""Views of fair-play reports from hand-made figures: small, and all of them invented."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta, norm

from milepost.fairplay.deep.look import DEEP, DeepTest
from milepost.fairplay.deep.pull import DeepPull
from milepost.fairplay.evidence.menu import HELPERS, SCHEDULES
from milepost.fairplay.evidence.ratio import ShareOfTurns
from milepost.fairplay.evidence.simulate import PowerCell
from milepost.fairplay.full import Chance, FullTest, posterior
from milepost.fairplay.screen import EventAsAWhole, Index

KEYS = (
    "odemarken, liv", "villardena, iker", "szelhegyfi, ors", "marovcinski, jelka",
    "quillfeather, ada", "okonedare, bisi", "tanzawara, rin", "brannochie, tavish",
    "anna petrova", "zwolinski, lukasz",
)  # fmt: skip
NAMES = (
    "Ødemarken, Liv", "Villardeña, Íker", "Szélhegyfi, Örs", "Marovčinski, Jelka",
    "Quillfeather, Ada", "Okonedare, Bisi", "Tanzawara, Rin", "Brannochie, Tavish",
    "Анна Петрова", "Zwoliński, Łukasz",
)  # fmt: skip
PSEUDONYMS = {key: f"Player {place:02d}" for place, key in enumerate(KEYS, start=1)}
WRITTEN = dict(zip(KEYS, NAMES, strict=True))
TESTED = KEYS[3]
_Z = (0.4, -1.1, 0.2, 2.3, -0.3, 1.0, None, -0.8, 0.1, 0.9)
_SIZE = 231


class Stub:
    """As much of a performance as a report asks for."""

    def __init__(self, player: str, turns: int, games: int) -> None:
        self.player, self.rating, self.rating_sd, self.games = player, 2200.0, 0.0, games
        self.turns_count = turns

    def __len__(self) -> int:
        return self.turns_count


def screening_table() -> pl.DataFrame:
    rows = []
    for place, (key, z) in enumerate(zip(KEYS, _Z, strict=True)):
        known = z is not None
        rating = 2310.0 - 60 * place if known else None
        found: float = z if z is not None else 0.0
        rows.append(
            {
                "player": key,
                "elo": 2400.0 - 50 * place,
                "elo_from": "given" if place == 4 else "in the game",
                "turns": _SIZE - 9 * place if known else 41,
                "games": 9 if known else 2,
                "rating": rating,
                "low": None if rating is None else rating - 110,
                "high": None if rating is None or place == 0 else rating + 120,
                "player_low": None if rating is None else rating - 190,
                "player_high": None if rating is None or place == 0 else rating + 200,
                "index": 50 + 5 * found if known else None,
                "p": float(norm.sf(found)) if known else None,
                "p_reference": float(norm.sf(found)) * 0.9 if known else None,
                "e_value": float(np.exp(found**2 / 2 * np.sign(found))) if known else None,
                "ln_e": found**2 / 2 * float(np.sign(found)) if known else None,
                "e_worst": float(np.exp(found**2 / 2 * np.sign(found) - 0.7)) if known else None,
                "z": z,
                "z_match": found * 0.8 if known else None,
                "z_error": found * 0.9 if known else None,
                "z_likelihood": found * 0.85 if known else None,
                "noticed": 0.31 - 0.01 * place if known else None,
                "mirror_p": 0.2 + 0.07 * place if known else None,
                "reason": "" if known else "41 turns: fewer than 60",
                "warnings": "rating given by hand" if place == 4 else "",
            }
        )
    return pl.DataFrame(rows)


def event() -> EventAsAWhole:
    z = np.sort([value for value in _Z if value is not None])
    count, place = len(z), np.arange(1, len(z) + 1)
    counts = [
        {
            "index": level,
            "expected": count * float(norm.sf((level - 50) / 5)),
            "found": int((50 + 5 * z >= level).sum()),
            "chance": 1.0 if level > 60 else 0.19,
        }
        for level in (60, 65, 70)
    ]
    return EventAsAWhole(
        players=count,
        mean_index=float(50 + 5 * z.mean()),
        mean_low=46.1,
        mean_high=53.9,
        quantiles=pl.DataFrame(
            {
                "expected": norm.ppf((place - 0.5) / count),
                "found": z,
                "low": norm.ppf(beta.ppf(0.025, place, count + 1 - place)),
                "high": norm.ppf(beta.ppf(0.975, place, count + 1 - place)),
            }
        ),
        counts=pl.DataFrame(counts),
        largest_p=float(1 - (1 - norm.sf(z[-1])) ** count),
        discoveries=0,
    )


def split() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "player": key, "games": 9, "turns": 200, "elo": 2400.0 - 50 * place,
                "score": 5.5 - 0.5 * place, "expected": 5.1 - 0.4 * place,
                "surplus": 0.4 - 0.1 * place, "own_play": 0.5, "own_play_se": 0.6,
                "opponents_play": -0.2, "opponents_play_se": 0.4, "rest": 0.1 - 0.1 * place,
                "rest_se": 0.7, "chance_sd": 1.2, "opponents_elo": 2180.0,
                "opponents_rating": 2120.0 if place else None, "opponents_low": 2000.0,
                "opponents_high": 2240.0, "elsewhere_rating": 2170.0, "elsewhere_low": 2100.0,
                "elsewhere_high": 2240.0, "reason": None if place < 9 else "no game with a result",
            }
            for place, key in enumerate(KEYS)
        ],
        infer_schema_length=None,
    )  # fmt: skip


def power() -> tuple[PowerCell, ...]:
    cells = []
    for who, top in (("best of this set-up", 1.0), ("another engine", 0.45)):
        for share in (0.05, 0.1, 0.2, 0.4, 1.0):
            for rate in (0.01, 0.001):
                reached = 1 - np.exp(-((4.2 * share * (1 if rate > 0.005 else 0.6) * top) ** 2))
                cells.append(
                    PowerCell(who, share, rate, float(reached), float(reached * 0.6 * top), 100)
                )
    return tuple(cells)


def deep_look(honest: int = 40) -> DeepTest:
    return DeepTest(
        ln_e=9.5, ln_e_worst=7.0, ln_e_both=8.8, played=0.61, expected=0.47, turns=240,
        p=1 / 41, p_reference=1 / 41, p_simulated=1e-5, p_simulated_se=2e-6,
        power=tuple(PowerCell(DEEP, share, rate, min(3 * share, 1.0), 0.2, 50)
                    for share in (0.05, 0.1, 0.2, 0.4, 1.0) for rate in (0.01, 0.001)),
        sequence=(1.0, 9.5),
        pull=DeepPull(12, (0.4, 0.1), (0.9, 0.2), 0.2, rests_on="12 performances, 3,000 turns",
                      ln_e=np.zeros(honest)),
    )  # fmt: skip


def full_test(
    player: str = TESTED,
    *,
    turns: int = _SIZE,
    games: int = 9,
    ln_e: float = 2.5,
    reference: int = 312,
    rounds: bool = True,
    too_little: str = "",
    deep: DeepTest | None = None,
) -> FullTest:
    rng = np.random.default_rng(5)
    walk = np.linspace(0, ln_e, games + 1)[1:] + np.append(rng.normal(0, 0.5, games - 1), 0.0)
    others = [key for key in KEYS if key != player]
    variants = (
        "as analysed", "from move 12", "from move 16", "from the novelty", "from novelty + 3",
        "from novelty + 6", "without won or lost positions", "without low clocks",
        "without fast early moves", "rating after the event: 2231",
    )  # fmt: skip
    stub: Any = Stub(player, turns, games)
    stub.evidence = SimpleNamespace(ln_menu=ln_e + 0.2, ln_counts=ln_e - 0.25)
    p_reference = 0.014 if reference else None
    sensitivity = pl.DataFrame(
        [
            {
                "variant": name, "turns": turns - 12 * place, "games": games,
                "z": 2.3 - 0.1 * place, "index": 61.5 - 0.5 * place,
                "ln_e": ln_e - (0.2 * place if place != 2 else -0.3),
                "ln_e_worst": ln_e - 1 - 0.2 * place, "match": 1.8, "error": 2.0, "reason": "",
            }
            for place, name in enumerate(variants)
        ]
        + [
            {
                "variant": "without tablebase endings", "turns": 0, "games": None, "z": None,
                "index": None, "ln_e": None, "ln_e_worst": None, "match": None, "error": None,
                "reason": "no FEN of these turns",
            }
        ],
        infer_schema_length=None,
    )  # fmt: skip
    return FullTest(
        performance=stub,
        index=Index(61.5, 2.3, 0.014, 0.011, p_reference, ln_e, ln_e - 1.0, 0.29),
        figures=pl.DataFrame(
            {
                "figure": ["match", "error", "likelihood", "all three"],
                "actual": [0.561, 0.081, -1.41, None],
                "expected": [0.492, 0.113, -1.55, None],
                "z_raw": [2.1, 2.6, 2.4, None],
                "z_adjusted": [1.8, 2.0, 2.1, 2.3],
                "z_published": [1.83, 1.86, None, None],
            }
        ),
        correlation=np.array([[1, 0.62, 0.7], [0.62, 1, 0.66], [0.7, 0.66, 1]]),
        alternatives=pl.DataFrame(
            [
                {"schedule": when, "assistant": who, "weight": a * b, "ln_ratio": ln_e * (a + b)}
                for when, a in SCHEDULES.items()
                for who, b in HELPERS.items()
            ]
        ),
        chance=Chance(
            p=0.014,
            p_simulated=0.009,
            p_simulated_se=0.0021,
            p_reference=p_reference,
            reference=reference,
            floor=1 / (1 + reference) if reference else None,
            draws=2000,
        ),
        shares=tuple(
            ShareOfTurns(who, 0.12 + 0.03 * place, 0.0 if place else 0.02, 0.3 + 0.05 * place)
            for place, who in enumerate(HELPERS)
        ),
        power=power(),
        sensitivity=sensitivity,
        sequence=pl.DataFrame(
            {
                "game_id": [f"g{n}" for n in range(games)],
                "round": [str(n + 1) if rounds else None for n in range(games)],
                "opponent": [others[n % len(others)] for n in range(games)],
                "turns": [turns // games] * games,
                "ln_e": walk,
                "ln_e_worst": walk - 1,
            },
            schema_overrides={"round": pl.String},
        ),
        trace=pl.DataFrame(
            {
                "game_id": [f"g{n // 4}" for n in range(12)],
                "move_number": [9 + n % 4 for n in range(12)],
                "colour": ["white"] * 12,
                "played": ["Nf3"] * 12,
                "probability": [0.42] * 12,
                "likeliest": [0.51] * 12,
                "expected_error": [0.1] * 12,
                "error": [0.0] * 12,
                "adds": [0.02] * 12,
            }
        ),
        posterior=posterior(ln_e, (1 / 10_000, 1 / 1_000, 1 / 50)),
        too_little=too_little,
        deep=deep,
    )


MADE = {
    "made_by": "milepost 0.0",
    "command": "check",
    "options": SimpleNamespace(full=True).__dict__,
    "inputs": [{"name": "event.pgn", "bytes": 1234, "sha256": "ab" * 32}],
}
