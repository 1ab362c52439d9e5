"""Caveats of the library, told in a line each on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from milepost.cli import show


@contextmanager
def caveats_told(word: Callable[[Warning], str] | None = None) -> Iterator[None]:
    """Tell caveats of ours in a line each; others go their way.

    Parameters
    ----------
    word
        Words a caveat as the command's users need it; empty = do not tell it.
    """
    from milepost.errors import MilepostWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MilepostWarning)
        yield
    for caveat in caught:
        if isinstance(caveat.message, MilepostWarning):
            text = str(caveat.message) if word is None else word(caveat.message)
            if text:
                show.say(f"warning: {text}", err=True)
        else:
            warnings.warn_explicit(caveat.message, caveat.category, caveat.filename, caveat.lineno)
