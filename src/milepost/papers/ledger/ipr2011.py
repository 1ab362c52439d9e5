"""The claims of Regan & Haworth, *Intrinsic Chess Ratings* (AAAI 2011), and of their draft.

"draft" is that of 12 February 2011. A pawn is the engine's: limits in pawns, and the constant of
the scale, belong to Stockfish here and to Rybka 3 in the paper.
"""

from __future__ import annotations

import math

from milepost.papers.ledger.claim import Claim
from milepost.papers.ledger.rules import Above, Outside, Within

CLAIMS = (
    Claim(
        "2011-standout", "section 1", "more likely to be selected by a human player",
        "points by which the best move is chosen more often where it leads by 0.5 pawns or more "
        "than where it leads by at most 0.05",
        "2011-context", Above(0.0, 20.0),
    ),
    Claim(
        "2011-equal-shares", "section 1", "somewhere near 20% probability",
        "where two to five moves lie within 0.05 pawns and the next 0.5 behind, points by which "
        "the first-listed is chosen more often than its equal share",
        "2011-context", Within(-5.0, 5.0),
    ),
    Claim(
        "2011-fifty", "section 1", "capping L at 50 did not affect the context",
        "per cent of turns with more than fifty moves within four pawns of the best",
        "2011-context", Within(-math.inf, 1.0),
    ),
    Claim(
        "2011-powers", "section 3", "better results are obtained by using r(p) = 1/ln(1/p)",
        "Qfit of shares less that of powers, on games not seen",
        "2011-ratios", Above(0.0, 0.2),
    ),
    Claim(
        "2011-growth", "section 3.1", "a uniform scaling effect all the way down to zero",
        "per cent of its mean by which the raw difference grows in a pawn, from 0.05 to 0.5 pawns",
        "2011-scaling", Above(0.0, 30.0),
    ),
    Claim(
        "2011-half-pawn", "draft, section 5", "a 60-70% higher average-difference",
        "per cent by which raw differences at 0.45 to 0.55 pawns exceed those at 0.05 to 0.15; 15 "
        "points to either side of the paper's are ours",
        "2011-scaling", Within(45.0, 85.0),
    ),
    Claim(
        "2011-behind", "section 3.1", "raw AD for moves … at a disadvantage … significantly higher",
        "per cent by which raw differences behind exceed those ahead, over five bands of value",
        "2011-signs", Above(0.0, 5.0),
    ),
    Claim(
        "2011-level", "section 3.1", "found to level the AD histogram very well",
        "per cent of its mean by which the scaled difference changes in a pawn, 0.05 to 3 pawns",
        "2011-scaling", Within(-10.0, 10.0),
    ),
    Claim(
        "2011-level-near", "section 3.1", "found to level the AD histogram very well",
        "the same from 0.05 to 1 pawn, where most turns lie",
        "2011-scaling", Within(-10.0, 10.0),
    ),
    Claim(
        "2011-level-signs", "section 3.1", "tending to equalize the resulting scaled AD",
        "per cent by which scaled differences behind exceed those ahead",
        "2011-signs", Within(-10.0, 10.0),
    ),
    Claim(
        "2011-level-kinds", "section 3.1", "in aggregations of all kinds of chess events",
        "the change in a pawn, 0.05 to 3 pawns, in the kind of event that is farthest from level "
        "(its error widened for the number of kinds)",
        "2011-kinds", Within(-15.0, 15.0),
    ),
    Claim(
        "2011-constant", "section 3.1", "all c outside [0.8, 1.2] produced inferior results",
        "the constant C of dx/(C + x) that makes the change in a pawn zero, 0.05 to 3 pawns",
        "2011-scaling", Within(0.8, 1.2),
    ),
    Claim(
        "2011-ties", "section 3.1", "the first-listed move was played significantly more often",
        "points by which the first of k equal-top moves is played more often than 1/k",
        "2011-ties", Above(0.0, 5.0),
    ),
    Claim(
        "2011-ties-alike", "section 3.1", "to similar degree across all training sets",
        "points by which that surplus is larger from 2300 Elo on than below",
        "2011-ties", Within(-10.0, 10.0),
    ),
    Claim(
        "2011-ties-depths", "section 8", "may owe to the first move having had higher value",
        "log-odds of the first-listed move beside the values at lower depths",
        "2011-ties", Within(-0.1, 0.1),
    ),
    Claim(
        "2011-curves-match", "section 4", "All of these curves … give similar results",
        "points of projected match rate, the curve farthest from the inverse exponential",
        "2011-curves", Within(-1.0, 1.0),
    ),
    Claim(
        "2011-curves-difference", "section 4", "All of these curves … give similar results",
        "per cent of projected difference, the curve farthest from the inverse exponential",
        "2011-curves", Within(-5.0, 5.0),
    ),
    Claim(
        "2011-moments", "section 6", "projections generated for M_i, i > 0, were wide of the mark",
        "Qfit over the ranks from the second on, moment fits less percentile fits, unseen games",
        "2011-methods", Above(0.0, 0.05),
    ),
    Claim(
        "2011-moments-second", "section 6", "projections … for M_i, i > 0, were wide of the mark",
        "points by which moment fits project the second move too often, unseen games",
        "2011-methods", Outside(1.0),
    ),
    Claim(
        "2011-likelihood-match", "section 6", "failed to yield even remotely accurate projections",
        "points by which likelihood fits project too high a match rate, unseen games",
        "2011-methods", Outside(1.5),
    ),
    Claim(
        "2011-likelihood-difference", "section 6", "failed to yield … accurate projections",
        "per cent by which likelihood fits project too large a difference, unseen games",
        "2011-methods", Outside(7.0),
    ),
    Claim(
        "2011-trend", "section 7", "a smooth relationship between … Elo ratings and the … quality",
        "fall of ln s in 100 Elo with c on its line, 2011-2014 (the paper's table: 0.067)",
        "2011-mileposts", Above(0.0, 0.03),
    ),
    Claim(
        "2011-band", "section 7", "the c value stayed between 0.430 and 0.545",
        "c on its line at the end of the scale that is farther from the middle of that band",
        "2011-mileposts", Within(0.430, 0.545),
    ),
    Claim(
        "2011-c-line", "section 7", "intervals coincidentally highly close to 0.007",
        "rise of c in 100 Elo, 2011-2014", "2011-mileposts", Above(0.0, 0.007),
    ),
    Claim(
        "2011-match", "section 7", "projected move-match … compared with the actuals",
        "points of match rate projected over actual, all cohorts (the paper's: +0.7)",
        "2011-mileposts", Within(-1.5, 1.5),
    ),
    Claim(
        "2011-difference", "section 7", "projected … average-difference … with the actuals",
        "per cent of difference projected over actual, all turns (the paper's: -3)",
        "2011-mileposts", Within(-7.0, 7.0),
    ),
    Claim(
        "2011-qfit", "section 7", "the above Qfit measure",
        "Qfit over what chance alone makes of it, mean of the cohorts (the paper's Qfit: 0.05)",
        "2011-mileposts", Within(-math.inf, 0.1),
    ),
    Claim(
        "2011-same-s", "section 7", "nearly the same for the corresponding entries of all three",
        "Elo by which ratings inflated in 30 years, read from s_fit at 2200 to 2700",
        "2011-inflation", Within(-100.0, 100.0),
    ),
    Claim(
        "2011-inflation", "section 7", "little or no ‘inflation’ in ratings over time",
        "Elo by which ratings inflated in 30 years, read from all depths of the same turns",
        "2011-inflation", Within(-math.inf, 100.0),
    ),
    Claim(
        "2011-deflation", "section 7", "if anything there has been deflation",
        "Elo by which ratings deflated in 30 years, read from all depths of the same turns",
        "2011-inflation", Above(0.0, 50.0),
    ),
    Claim(
        "2011-two-players", "section 7", "only two players with ratings over 2700",
        "players over 2700 in the year of the 1970s with most of them",
        "2011-over-2700", "at most two in every year of 1971 to 1979",
    ),
    Claim(
        "2011-thirty", "section 7", "usually been thirty or more players with such ratings",
        "players over 2700 at the end of a year of 2001 to 2010",
        "2011-over-2700", "thirty or more in at least six of the ten years",
    ),
    Claim(
        "2011-none-1981", "section 7", "as late as 1981 when no one had a rating over 2700",
        "years after 1975 without a player over 2700",
        "2011-over-2700", "at least one such year up to 1981",
    ),
    Claim(
        "2011-speed", "section 1, question 3", "a faster time control markedly reduce the quality",
        "Elo by moves, slow games less fast ones, of one account in one file",
        "2011-speeds", Above(0.0, 200.0),
    ),
    Claim(
        "2011-clock", "draft, section 3", "time-pressure during specific games",
        "Elo by moves with over five minutes less that with under one, in the same files",
        "2011-speeds", Above(0.0, 200.0),
    ),
    Claim(
        "2011-phases", "draft, question 5", "average master in the openings … super-grandmaster",
        "Elo by which play of the endgame is better than that of the middlegame at equal rating; "
        "one scale serves all phases if it is small",
        "2011-phases", Within(-150.0, 150.0),
    ),
    Claim(
        "2011-deeper", "section 8", "stronger players to have higher weights for higher d",
        "rise of ln(weight of the last depth / of the first) in 500 Elo",
        "2011-depths", Above(0.0, 0.5),
    ),
    Claim(
        "2011-late", "section 8", "moves … whose strength becomes apparent only at higher depths",
        "points by which best moves that were behind at depth 2 are missed more by players under "
        "2100 than by those from 2400 on, beyond what their s and c project",
        "2011-context", Above(0.0, 2.0),
    ),
    Claim(
        "2011-engines", "abstract", "sufficiently far ahead of the best human players",
        "Elo by moves of engines over humans of 2700, by a judge that searches less than they",
        "2011-engines", Above(0.0, 100.0),
    ),
    Claim(
        "2011-depth-cost", "section 5", "This choice enabled … reasonable timeframe",
        "error of a rating with two plies less, as a multiple of that with all",
        "2011-analysis", "under 1.15 times",
    ),
    Claim(
        "2011-ten-moves", "draft, section 1", "Often we cap N at a number such as 20 or 50",
        "error of a rating from the first twenty moves, as a multiple of that from all",
        "2011-analysis", "under 1.15 times",
    ),
    Claim(
        "2011-s-range", "section 7", "s varied from 0.07 to 0.16 and beyond", "s by milepost",
        rule="s is in the pawns of Rybka 3 to depth 13, which nobody can buy; see the table beside",
    ),
    Claim(
        "2011-rybka", "section 5", "depth 13 in the 2650-to-2700 range", "strength of Rybka 3",
        rule="the engine is not at hand",
    ),
    Claim(
        "2011-five-pawns", "section 3.1", "both blunders may be equally fatal", "a motive",
        rule="a reason for the scale, not a statement about data",
    ),
    Claim(
        "2011-independent", "section 3", "choices … at different game turns are independent",
        "an assumption that the authors call contrary to reality",
        rule="random turns cannot show it; the calibrations' neighbour covariance measures it",
    ),
    Claim(
        "2011-fraud", "section 1, question 4", "the extent to which luck or collusion played",
        "games suspected of fraud", rule="no such games with a known truth are at hand",
    ),
    Claim(
        "2011-other-domains", "section 8", "transferable to other domains",
        "choices outside chess", rule="tested elsewhere on simulated choices only",
    ),
)  # fmt: skip
"""In the order of the paper; those without an experiment last."""
