"""Claims about a reviewed script that fits s and c its own way (beside the draft of 2011).

The script takes differences of win probabilities and five moves; a review of it said what that may
do. The rules are words: ratings are compared with ratings of the same games.
"""

from __future__ import annotations

from milepost.papers.ledger.claim import Claim

_SAME = "ratings move by less than half their error, root mean square"

CLAIMS = (
    Claim(
        "script-five", "review, point 1", "that can bias the parameter estimates",
        "Elo by which five moves, calibrated in their own right, move a rating",
        "script-elo", _SAME,
    ),
    Claim(
        "script-win", "review, point 2", "compresses large evaluation differences",
        "Elo by which win-probability differences move a rating", "script-elo", _SAME,
    ),
    Claim(
        "script-both", "review, summary", "a good qualitative implementation",
        "Elo by which both together move a rating", "script-elo", _SAME,
    ),
    Claim(
        "script-naive", "review, point 1", "you are modeling choices among the top 5",
        "Elo by which five moves shift a rating read off the full method's scale",
        "script-elo", "under 50 Elo, and within three errors of zero",
    ),
)  # fmt: skip
"""All of them are tested."""
