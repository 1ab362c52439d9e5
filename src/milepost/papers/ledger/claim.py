"""What a claim of the ledger is."""

from __future__ import annotations

from dataclasses import dataclass

from milepost.papers.ledger.rules import Rule


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
