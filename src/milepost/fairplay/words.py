"""Words for figures: what may be said of a performance, and what never is."""

from __future__ import annotations

from typing import Final

import numpy as np

from milepost.fairplay.deep_pull import LEAST_HONEST, DeepPull

FORBIDDEN: Final = ("cheat", "guilty", "innocent", "suspicious", "proof", "caught", "verdict")
"""Words that nothing that is printed or written may hold."""

ALONE: Final = "a player of this rating chose all moves alone"
HELPED: Final = "a share of the moves came from an assistant of the published menu"
"""The two propositions that the evidence ratio compares."""

OPENING: Final = (
    "This is evidence, not a judgement. It compares two propositions about moves.",
    "A low figure is no clearance: what the test could not have seen stands below.",
    "A high figure has ordinary explanations: an underrated or improving player, preparation, \
forcing games, a wrong rating, errors in the game scores, or chance among many players.",
    "It may be used beside other evidence only, never alone, and never from a single game.",
)
"""With which every report begins."""

REPLY: Final = (
    "The player may answer. The command at the end of this report recomputes every figure from the "
    "games; a reply can be attached to the report and travels with it."
)

_SCALE: Final = (
    (10.0, "limited"),
    (100.0, "moderate"),
    (1_000.0, "moderately strong"),
    (10_000.0, "strong"),
)
"""Words for evidence ratios, after the verbal scale of the European Network of Forensic Science
Institutes (ENFSI guideline for evaluative reporting, 2015)."""


def support(ln_e: float) -> str:
    """Return an evidence ratio in words: which proposition it supports, and how strongly."""
    size = float(np.exp(min(abs(ln_e), 600.0)))
    if size < 2:
        return "no support for either proposition over the other"
    word = next((word for limit, word in _SCALE if size <= limit), "very strong")
    which = HELPED if ln_e > 0 else ALONE
    return f"{word} support for: {which}"


def ratio_text(ln_e: float) -> str:
    """Return an evidence ratio as people read it."""
    if ln_e > np.log(1e6):
        return f"10^{ln_e / np.log(10):.0f}"
    value = float(np.exp(ln_e))
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def not_counted(pull: DeepPull) -> str:
    """Say why E leaves a deep look out."""
    return (
        f"E leaves the deep look out: only {len(pull.ln_e)} honest performances have been looked "
        f"at so deep, and {LEAST_HONEST} are wanted."
    )


def p_text(p: float, floor: float | None = None) -> str:
    """Return a probability as people read it; at the floor of the reference set it says so."""
    if floor is not None and p <= floor * (1 + 1e-9):
        return f"at most {_short(p)}"
    return _short(p)


def cases_text(power: float) -> str:
    """Return a power in words, such as "29 of 100 cases"; never 0 or all of them."""
    count = min(max(round(100 * power), 1), 99)
    if power < 0.01:
        return "fewer than 1 of 100 cases"
    if power > 0.99:
        return "more than 99 of 100 cases"
    return f"{count} of 100 cases"


def _short(p: float) -> str:
    if p >= 0.1:
        return f"{p:.2f}"
    if p >= 0.001:
        return f"{p:.3f}"
    return f"{p:.1g}"
