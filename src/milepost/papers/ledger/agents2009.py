"""The claims of Di Fatta, Haworth & Regan, *Skill Rating by Bayesian Inference* (CIDM 2009)."""

from __future__ import annotations

from milepost.papers.ledger.claim import Claim
from milepost.papers.ledger.rules import Above, Within

CLAIMS = (
    Claim(
        "2009-rises", "section V.B", "able to detect different skill levels among players",
        "rise of c in 100 Elo (the paper's Table II: 0.043)", "2009-bands", Above(0.0, 0.02),
    ),
    Claim(
        "2009-intervals", "section I", "sharp, significant and self-consistent differences",
        "smallest step of c between bands 300 Elo apart (the paper's: 0.10)",
        "2009-bands", Above(0.0, 0.06),
    ),
    Claim(
        "2009-sd", "section IV", "the variance … provides a measure of the uncertainty",
        "error of c clustered by game, as a multiple of the posterior's standard deviation",
        "2009-bands", Within(0.75, 1.25),
    ),
    Claim(
        "2009-converges", "section V.C", "quickly converges",
        "share of later means within two standard deviations of the last, in per cent",
        "2009-learning", "over 85 %, where 95 are expected of means that share their data",
    ),
    Claim(
        "2009-sd-falls", "section V.C", "the standard deviation … decreases",
        "change of ln sd in a unit of ln n; one over the root of n is -0.5",
        "2009-learning", Within(-0.6, -0.4),
    ),
    Claim(
        "2009-asymptote", "section V.C", "asymptotic value of the standard deviation",
        "change of ln sd in a unit of ln n over the last half of the turns; with an asymptote it "
        "would go to 0", "2009-learning", Above(-0.4, -0.2),
    ),
    Claim(
        "2009-won-lost", "section V.D, Table III", "won … higher apparent skill … than … lost",
        "c of those who won less that of those who lost (the paper's: 0.081)",
        "2009-results", Above(0.0, 0.04),
    ),
    Claim(
        "2009-drew-won", "section V.D, Table III", "Players who have drawn have even higher",
        "c of those who drew less that of those who won (the paper's: 0.004)",
        "2009-results", Above(0.0, 0.02),
    ),
    Claim(
        "2009-drew-lost", "section V.D, Table III", "no or irrelevant errors",
        "c of those who drew less that of those who lost (the paper's: 0.085)",
        "2009-results", Above(0.0, 0.04),
    ),
    Claim(
        "2009-depths", "section VI", "varying position-valuations at different depths",
        "rise of c in 100 Elo at depth 6 over that at depth 10, less one, in per cent",
        "2009-robustness", Within(-30.0, 30.0),
    ),
    Claim(
        "2009-width", "section III.A", "limited search depth and span",
        "rise of c in 100 Elo from the first five moves over that from ten, less one, in per cent",
        "2009-robustness", Within(-30.0, 30.0),
    ),
    Claim(
        "2009-engine", "section VI", "in part affected by the errors of the reference engines",
        "c by Toga II over c by Stockfish on the same turns, less one, in per cent",
        "2009-robustness", Within(-15.0, 15.0),
    ),
    Claim(
        "2009-depth-10", "section V.A", "suffices to ferret out most of their inaccuracies",
        "per cent of the moves that cost 0.3 pawns at depth 10 which depth 8 also finds",
        "2009-robustness", Above(50.0, 60.0),
    ),
    Claim(
        "2009-prior", "section IV", "a ‘know nothing’ constant",
        "largest shift of c between ranges that hold the posterior, in its standard deviations",
        "2009-prior", "under 0.01",
    ),
    Claim(
        "2009-better", "section III.B", "the greater c, the better E(c)", "expected value over c",
        rule="follows from the formula: its derivative is a variance; the tests check it",
    ),
    Claim(
        "2009-endgame-zone", "section II.A", "an engine E may play chess infallibly in EZ",
        "c judged by endgame tables",
        rule="no tables are at hand; with them: milepost.analysis.tablebases",
    ),
    Claim(
        "2009-single-game", "section V.D", "meaningful difference between the players of a … game",
        "c of winner and loser of one game",
        rule="needs whole games: the turns drawn here are few in each",
    ),
    Claim(
        "2009-training", "section VI", "the likely abilities of students", "other domains",
        rule="no such choices are at hand",
    ),
)  # fmt: skip
"""In the order of the paper; those without an experiment last."""
