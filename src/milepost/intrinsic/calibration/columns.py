"""The columns that the agents of chess go by, besides the values: the map ``joint-columns``.

Chosen on turns of 2011 to 2019 by folds of whole games (`studies.agents`). Few of them follow the
rating: slopes for all of them overfit (they held less about Elo on games not seen).
"""

from __future__ import annotations

VALUES = ("loss", "steep", "error", "first", "least", "rank", "tops")
"""Of the values alone. `error` and `first` bring the projections to what was played, `steep` brings
those of slips over three and five pawns nearer."""
MOVES = (
    "capture", "recapture", "trade", "promotion", "castling", "pawn", "rook", "queen", "king",
    "forward", "retreat", "long", "escape", "exposed", "near", "centre",
)  # fmt: skip
"""What kind of move it is."""
POSITION = (
    "loss*lead", "loss*behind", "least*behind", "rank*options", "rank*clear", "rank*even",
    "least*even", "loss*even",
)  # fmt: skip
"""How much values count by the worth of the position, and by how many good options there are."""
PHASE = (
    "least*opening", "loss*opening", "error*opening", "first*opening", "least*control",
    "rank*endgame", "capture*endgame", "king*endgame", "pawn*endgame",
)  # fmt: skip
"""How much they count by the move number: preparation, the time control, the endgame."""
UTILITIES = (*VALUES, *MOVES, *POSITION, *PHASE)
"""All of them."""
RATING_DEGREES = {
    "error": 1,
    "first": 1,
    "least": 1,
    "capture": 1,
    "least*opening": 1,
    "first*opening": 1,
    "error*opening": 2,
}
"""Those that follow the rating. In the opening twice: the strongest are prepared far longer."""
