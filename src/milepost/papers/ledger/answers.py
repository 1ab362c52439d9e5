"""All claims of the ledger together, and how an experiment answers one."""

from __future__ import annotations

from functools import cache

from milepost.errors import InputError
from milepost.papers.experiment import TOO_LITTLE, Finding, Verdict
from milepost.papers.ledger import agents2009, ipr2011, script, ttt2007
from milepost.papers.ledger.claim import Claim
from milepost.papers.ledger.rules import interval
from milepost.papers.statistics import Estimate


@cache
def ledger() -> dict[str, Claim]:
    """Return all claims by key, in the order of the papers."""
    every = (*ttt2007.CLAIMS, *agents2009.CLAIMS, *ipr2011.CLAIMS, *script.CLAIMS)
    found = {claim.key: claim for claim in every}
    if len(found) != len(every):
        raise InputError("two claims of the ledger have the same key")
    return found


def judge(key: str, number: Estimate, found: str, *, n: int, unit: str = "turns") -> Finding:
    """Return the finding of a claim: its rule applied to a number.

    Parameters
    ----------
    key
        The claim.
    number
        What decides, with its standard error (clustered by game where turns were counted).
    found
        What these data say, in words.
    n, unit
        How many turns, games or other things the number rests on.
    """
    claim = ledger()[key]
    if isinstance(claim.rule, str):
        raise InputError(f"claim {key} has no interval as its rule")
    low, high = interval(number)
    return Finding(
        claim.title, found, claim.rule.judge(number), key=key, effect=number.value, low=low,
        high=high, power=claim.rule.power(number.se), p=claim.rule.p(number), n=n, unit=unit,
    )  # fmt: skip


def decide(key: str, found: str, verdict: Verdict, number: Estimate | None = None) -> Finding:
    """Return the finding of a claim whose rule is told in words: the experiment applied it.

    `number` is what it looked at, where that is a number with an error.
    """
    claim = ledger()[key]
    if number is None:
        return Finding(claim.title, found, verdict, key=key)
    low, high = interval(number)
    return Finding(claim.title, found, verdict, key=key, effect=number.value, low=low, high=high)


def too_little(key: str, found: str, *, n: int = 0, unit: str = "turns") -> Finding:
    """Return the finding of a claim for which there is not even a number."""
    return Finding(ledger()[key].title, found, TOO_LITTLE, key=key, power=0.0, n=n, unit=unit)
