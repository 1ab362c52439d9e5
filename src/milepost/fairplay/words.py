"""Words for figures: what may be said of a performance, and what never is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from milepost.fairplay.deep.pull import LEAST_HONEST, DeepPull

if TYPE_CHECKING:
    from milepost.fairplay.deep.look import DeepTest

FORBIDDEN: Final = ("cheat", "guilty", "innocent", "suspicious", "proof", "caught", "verdict")
"""Words that nothing that is printed or written may hold."""

ALONE: Final = "a player of this rating chose all moves alone"
HELPED: Final = "a share of the moves came from an assistant of the published menu"
"""The two statements (propositions, as forensic texts say) that the evidence ratio compares."""

OPENING: Final = (
    "This is evidence, not a judgement. It compares two statements about the moves.",
    "A low figure clears nobody. What the test could not have seen is said below.",
    "A high figure has ordinary explanations: an underrated or improving player, preparation, \
forcing games, a wrong rating, errors in the game scores, or chance among many players.",
    "Use it only beside other evidence, never alone, and never from a single game.",
)
"""With which every report begins."""

REPLY: Final = (
    "The player may answer. The command at the end of this report computes every figure again from "
    "the games. A reply can be attached, and stays with the report."
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
        return "no support for either statement over the other"
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
    if not pull.enough:
        return (
            f"The deep look does not count in E: it was tried on {len(pull.ln_e)} honest "
            f"performances, and at least {LEAST_HONEST} are needed."
        )
    return (
        f"The deep look does not count in E: of {len(pull.ln_e)} honest performances one had a "
        f"ratio of {ratio_text(float(pull.ln_e[-1]))} with it, so a high ratio says little."
    )


def deep_p(deep: DeepTest) -> str:
    """Return p of the ratio with the deep look, and where it comes from."""
    if deep.p_reference is None:
        return f"p = {p_text(deep.p)} by simulation"
    return (
        f"p = {p_text(deep.p)}: {p_text(deep.p_simulated)} by simulation, "
        f"{p_text(deep.p_reference)} among {len(deep.pull.ln_e)} honest performances"
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
