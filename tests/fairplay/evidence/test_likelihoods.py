"""The kernel of the evidence ratio: beside the plain sum, and the same without compiling."""

from __future__ import annotations

import numpy as np
from tests.uncompiled import uncompiled

SHARES = (0.1, 0.5)
WITHIN = 0.3


def inputs() -> dict[str, np.ndarray]:
    """Two games of eleven and three turns, with one choice that no assistant would make."""
    rng = np.random.default_rng(5)
    nodes, turns = 9, 14
    helped = rng.uniform(0.01, 0.9, (2, turns))
    helped[0, 4] = 0.0
    mixing = rng.uniform(0.1, 1.0, (2, nodes, nodes))
    return {
        "starts": np.array([0, 11, turns]),
        "ln_p": np.log(rng.uniform(0.02, 0.95, (turns, nodes))),
        "helped": helped,
        "difficult": (rng.random(turns) < 0.5) * 1.0,
        "behind": (rng.random(turns) < 0.3) * 1.0,
        "stake": rng.uniform(0.1, 1.0, turns),
        "mixing": mixing / mixing.sum(axis=2, keepdims=True),
    }


def by_kernel() -> tuple[np.ndarray, np.ndarray]:
    """What the kernel says of them: with help, and without."""
    from milepost.fairplay.evidence.likelihoods import add_games

    given = inputs()
    nodes = given["ln_p"].shape[1]
    answer, alone = np.zeros((5, 2, len(SHARES), nodes)), np.zeros(nodes)
    add_games(
        **given, shares=np.array(SHARES), within=WITHIN, answer=answer, alone=alone
    )  # fmt: skip
    return answer, alone


def everything() -> list[list[float]]:
    return [each.ravel().tolist() for each in by_kernel()]


def test_the_kernel_is_the_plain_sum() -> None:
    answer, alone = by_kernel()
    given = inputs()
    expected, without = np.zeros_like(answer), np.zeros_like(alone)
    for game in range(2):
        at = slice(given["starts"][game], given["starts"][game + 1])
        p, mixing = np.exp(given["ln_p"][at]), given["mixing"][game]
        own = p.prod(axis=0)
        without += np.log(mixing @ own)
        every = np.ones(len(p), dtype=bool)
        chosen = [every, given["difficult"][at] > 0, given["behind"][at] > 0]
        stake = given["stake"][at] / given["stake"][at].sum()
        for k in range(2):
            ratio = given["helped"][k, at, None] / p
            for j, q in enumerate(SHARES):
                rows = [own * (1 - q + q * ratio[those]).prod(axis=0) for those in chosen]
                single = own * (1 - q + q * (stake @ ratio))
                whole = own * (1 - q + q * (1 - WITHIN + WITHIN * ratio).prod(axis=0))
                # The third schedule that parts by turns stands fourth: after the single turn.
                for place, row in enumerate([rows[0], rows[1], single, rows[2], whole]):
                    expected[place, k, j] += np.log(mixing @ row)
    np.testing.assert_allclose(alone, without, rtol=1e-11)
    np.testing.assert_allclose(answer, expected, rtol=1e-11, atol=1e-11)


def test_uncompiled_it_gives_the_same() -> None:
    answers = uncompiled(
        "tests.fairplay.evidence.test_likelihoods",
        "milepost.fairplay.evidence.likelihoods.add_games",
    )
    for plain, compiled in zip(answers, everything(), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-12, atol=1e-12)
