"""Suggestions for what was misspelt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(typed: object, known: Iterable[object]) -> str:
    """Return the end of a message that names what was probably meant; empty if nothing is near.

    Parameters
    ----------
    typed
        What was typed.
    known
        What could have been typed.

    Examples
    --------
    >>> did_you_mean("pahse", ["player", "phase"])
    '; did you mean phase?'
    >>> did_you_mean("x", ["player", "phase"])
    ''
    """
    names = {str(name).lower(): str(name) for name in known}
    near = get_close_matches(str(typed).lower(), names, n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(names[name] for name in near)}?" if near else ""
