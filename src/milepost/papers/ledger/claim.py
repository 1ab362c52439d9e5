"""What a claim of the ledger is, and how an experiment answers it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from milepost.errors import InputError
from milepost.papers.experiment import TOO_LITTLE, Finding, Verdict
from milepost.papers.ledger.rules import Rule, interval
from milepost.papers.statistics import Estimate


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper that can be right or wrong."""

    key: str
    """Its name, which begins with the paper's year."""
    section: str
    """Where it stands."""
    words: str
    """The paper's own words, cut short."""
    reading: str
    """What we take it to say: the number that decides, and its unit."""
    experiment: str = ""
    """The experiment that judges it; empty if it cannot be tested here."""
    rule: Rule | str = ""
    """Where the number must lie; in words for rules that are no interval. For a claim that cannot
    be tested, the reason."""

    @property
    def paper(self) -> str:
        """The paper's year."""
        return self.key.split("-", 1)[0]

    @property
    def title(self) -> str:
        """The claim as findings show it: the paper's words and their place."""
        return f'"{self.words}" ({self.section}): {self.reading}'


@cache
def ledger() -> dict[str, Claim]:
    """Return all claims by key, in the order of the papers."""
    from milepost.papers.ledger import agents2009, ipr2011, script, ttt2007

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
