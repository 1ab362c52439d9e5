"""The claims of Dangauthier, Herbrich, Minka & Graepel, *TrueSkill Through Time* (NIPS 2007).

All are judged on the one table of results there is. Every history had been looked at before these
rules were written down, so the verdicts on this paper are exploratory.
"""

from __future__ import annotations

from milepost.papers.ledger.claim import Claim

_SURE = "a probability of 95 % or more; refuted at 5 % or less"

CLAIMS = (
    Claim(
        "2007-recorded", "section 4, Figure 2", "a large proportion … between 1987 and 2006",
        "games a year of 1997-2006 over those of 1850-1900; share of the games that are late",
        "2007-games", "ten times as many",
    ),
    Claim(
        "2007-size", "section 4", "3,505,366 games between 206,059 unique players",
        "games and players of 1850-2006 in our table", "2007-games", "as many games or more",
    ),
    Claim(
        "2007-graph", "section 4", "approximately 11,700,000 variables and 15,200,000 factors",
        "size of our graph of all years, and that it settles", "2007-games",
        "half of the paper's variables, and converged",
    ),
    Claim(
        "2007-evidence-d", "section 4", "TTT-D … log-evidence of -3,661,813",
        "evidence of TTT-D over TTT in nats a game (the paper's: 0.083)", "2007-evidence",
        "five nats or more in all, on both spans of years",
    ),
    Claim(
        "2007-evidence-naive", "section 4", "larger than that of the naive model",
        "evidence of TTT over the share of draws alone, in nats a game", "2007-evidence",
        "five nats or more in all, on both spans of years",
    ),
    Claim(
        "2007-smoothing", "section 3.2", "propagate information from the future into the past",
        "nats a game by which smoothed skills predict held-out games better than filtered ones",
        "2007-evidence", _SURE,
    ),
    Claim(
        "2007-predictive", "abstract", "provides significantly better predictive power",
        "nats a game by which TTT-D predicts each next year better than TTT", "2007-evidence",
        f"{_SURE}, in all years and in 1997-2006",
    ),
    Claim(
        "2007-robust", "section 4, Figure 2", "very robust … except if beta is chosen too small",
        "share of the gain over the draws that is lost when one number is doubled or halved, and "
        "when beta is a quarter", "2007-surface", "under a fifth, and over a third",
    ),
    Claim(
        "2007-dynamics", "section 4", "neither largest for tau >> 0 … nor for tau -> 0",
        "the best tau of the grid", "2007-surface", "inside the grid, five nats or more over 0",
    ),
    Claim(
        "2007-optimum", "section 4", "the optimal values (beta, tau) = (480, 60)",
        "nats a game that the paper's point lies behind our best", "2007-surface", "under 0.001",
    ),
    Claim(
        "2007-ends", "section 4", "uncertainties always grow towards the beginning and end",
        "careers that are less certain in their last year than in the middle one",
        "2007-curves", "more than half (sign test, 5 %); \"always\" is told beside it",
    ),
    Claim(
        "2007-fischer-gap", "section 4", "the uncertainty grows very large in his 20 years",
        "Fischer's standard deviation in 1982 against 1972 and 1992", "2007-curves",
        "larger than both",
    ),
    Claim(
        "2007-gaps", "section 4", "the uncertainty grows during the 20 years of inactivity",
        "gaps of ten years or more that are less certain in the middle than before",
        "2007-curves", "more than half (sign test, 5 %)",
    ),
    Claim(
        "2007-morphy", "section 4", "the greatest chess master of his time",
        "Morphy's best year against the best other of each year 1850-66", "2007-champions", _SURE,
    ),
    Claim(
        "2007-morphy-80", "section 4", "his contemporaries in the next 80 years",
        "Morphy's best year against the best of each year 1859-1939", "2007-champions", _SURE,
    ),
    Claim(
        "2007-fischer-spassky", "section 4", "later defeated Spassky … well supported",
        "Fischer over Spassky in 1972", "2007-champions", _SURE,
    ),
    Claim(
        "2007-kramnik", "section 4", "Kasparov is still considerably stronger than … Kramnik",
        "Kasparov over Kramnik in 2006, with and without the years after", "2007-champions",
        f"{_SURE}; the lower of the two decides",
    ),
    Claim(
        "2007-anand", "section 4", "a contender for the crown … is Viswanathan Anand",
        "Anand over Kasparov in 2006", "2007-champions", "a probability over 5 %",
    ),
    Claim(
        "2007-kasparov", "section 4", "considered the strongest Chess player of all time",
        "the highest peak up to 2006 against the next", "2007-champions", _SURE,
    ),
    Claim(
        "2007-spassky", "section 4, Figure 4", "the strongest player to do so is Boris Spassky",
        "Spassky's margin in 1972 against Fischer's", "2007-margins", _SURE,
    ),
    Claim(
        "2007-fischer-margin", "section 4", "the only one … whose epsilon decreased over time",
        "change of Fischer's margin up to 1972", "2007-margins", _SURE,
    ),
    Claim(
        "2007-spassky-rises", "section 4", "This ability got stronger after 1975",
        "change of Spassky's margin over his career up to 1992", "2007-margins", _SURE,
    ),
    Claim(
        "2007-spassky-skill", "section 4", "fixed draw margin estimates Spassky's skill larger",
        "Spassky's skill by TTT less that by TTT-D, mean of his years from 1975 on",
        "2007-margins", "over the larger of the two mean errors",
    ),
    Claim(
        "2007-draws-all", "section 3.3", "draw … increases markedly through the history of chess",
        "share of draws by decade, all games of 1850-2006", "2007-draws", _SURE,
    ),
    Claim(
        "2007-draws-top", "section 3.3", "draw … increases markedly through the history of chess",
        "share of draws by decade among the fifty best of each year, 1850-2006",
        "2007-draws", _SURE,
    ),
    Claim(
        "2007-draws-skill", "section 3.3", "positively correlated with playing skill",
        "share of draws by 100 points of skill, players at most 100 apart, since 1990",
        "2007-draws", _SURE,
    ),
    Claim(
        "2007-margin-skill", "section 3.3", "positively correlated with playing skill",
        "correlation of margin and skill in 2000", "2007-draws", _SURE,
    ),
    Claim(
        "2007-strength", "abstract", "the overall playing strength has increased",
        "rise of the mean of the best twenty from 1900 to 2006, also with a learned level of "
        "newcomers", "2007-top", _SURE,
    ),
    Claim(
        "2007-since-1980", "section 4", "a noticeable increase in overall skill since the 1980's",
        "points a decade in 1980-2006 less those in 1950-1980, also with a learned level of "
        "newcomers", "2007-top", _SURE,
    ),
    Claim(
        "2007-minutes", "section 4", "converges in less than 10 minutes", "processor time",
        rule="a time of a machine of 2007 says nothing about a claim",
    ),
    Claim(
        "2007-order", "section 3.2", "dependency … on the order of game outcomes vanishes",
        "skills under another order of the games",
        rule="true of the fixed point; the tests of milepost.history check it",
    ),
    Claim(
        "2007-edwards", "section 5", "the improvement may be detectable", "eras compared",
        rule="results alone cannot tell; 2011-inflation asks the moves",
    ),
    Claim(
        "2007-white", "section 5", "the effect of playing white", "future work",
        rule="a wish of the authors; milepost.history has it",
    ),
)  # fmt: skip
"""In the order of the paper; those without an experiment last."""
