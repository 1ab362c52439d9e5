"""What each family of columns buys, added one after the other.

python -m studies.agents --models studies/column_families.py --decisions FILE
"""

from __future__ import annotations

from dataclasses import replace

from milepost.fit.comparison.candidates import recommended
from milepost.fit.comparison.compare import Candidate
from milepost.intrinsic.calibration.columns import MOVES, PHASE, POSITION, RATING_DEGREES, VALUES

PLAIN = recommended(tuple(range(1, 11)))


def with_columns(*families: tuple[str, ...]) -> Candidate:
    """The recommended model with these columns too, those that follow the rating with slopes."""
    names = tuple(name for family in families for name in family)
    assert not isinstance(PLAIN.degree, int)
    degrees = dict.fromkeys(names, 0) | dict(PLAIN.degree)
    degrees |= {name: degree for name, degree in RATING_DEGREES.items() if name in names}
    return replace(
        PLAIN, model=replace(PLAIN.model, utilities=names), degree=tuple(degrees.items())
    )


MODELS = {
    "values by depth": PLAIN,
    "+ columns of values": with_columns(VALUES),
    "+ kind of move": with_columns(VALUES, MOVES),
    "+ position": with_columns(VALUES, MOVES, POSITION),
    "+ phase": with_columns(VALUES, MOVES, POSITION, PHASE),
}
