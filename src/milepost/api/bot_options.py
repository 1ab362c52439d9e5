"""What a caller of the bot may give: numbers and files, refused in words before they do harm."""

from __future__ import annotations

import math
from pathlib import Path

from milepost.errors import InputError


def number(name: str, value: object, expected: str) -> float:
    """Return what must be a finite number.

    Raises
    ------
    InputError
        Saying what was expected, if it is none.
    """
    try:
        # A truth value or a text is no number, even where Python would make one of it.
        found = math.nan if isinstance(value, bool | str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{name}: expected {expected}; got {value!r}")
    return found


def whole_number(name: str, value: object, expected: str) -> int:
    """Return what must be a whole number from 0.

    Raises
    ------
    InputError
        Saying what was expected, if it is none.
    """
    found = number(name, value, expected)
    if found < 0 or not found.is_integer():
        raise InputError(f"{name}: expected {expected}; got {value!r}")
    return int(found)


def check_file(name: str, value: object, expected: str, *others: type) -> None:
    """Refuse what is neither a path nor one of some other types; None is fine.

    Raises
    ------
    InputError
        Saying what was expected.
    """
    if value is not None and not isinstance(value, (str, Path, *others)):
        raise InputError(f"{name}: expected {expected}; got {value!r}")
