"""Players' names: one form for the many ways in which the same spelling is written.

Only what cannot change who is meant is evened out: case, blanks, diacritics on Latin letters, dots,
hyphens and the blank behind the comma. Whether two different spellings are one person is decided in
`milepost.games.players`, on evidence.
"""

from __future__ import annotations

import re
import unicodedata

_LETTERS_WITHOUT_PARTS = str.maketrans(
    {
        "ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ŋ": "n", "ŧ": "t",
        "ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", "ĳ": "ij",
    }
)  # fmt: skip
_NOBODY = {
    "",
    "?",
    "-",
    "n",
    "nn",
    "n n",
    "unknown",
    "anonymous",
    "player",
    "white",
    "black",
    "noname",
}
_QUIET = re.compile(r"[.'’`´\"]+")
_SEPARATORS = re.compile(r"[\s\-‐‑–]+")


def normalise_name(name: str | None) -> str | None:
    """Return the form of a name that its spellings share; `None` where no person is named.

    >>> normalise_name("CARLSEN,Magnus")
    'carlsen, magnus'
    >>> normalise_name("Müller-Łoś , J.")
    'muller los, j'
    """
    if name is None:
        return None
    plain = _without_diacritics(name.casefold()).translate(_LETTERS_WITHOUT_PARTS)
    plain = _SEPARATORS.sub(" ", _QUIET.sub("", plain))
    parts = [part.strip() for part in plain.split(",")]
    joined = ", ".join(part for part in parts if part)
    return None if joined in _NOBODY else joined


def _without_diacritics(text: str) -> str:
    """Drop marks on Latin letters only: elsewhere (Japanese, Indic) a mark makes another letter."""
    if text.isascii():
        return text
    kept: list[str] = []
    base_is_latin = False
    for character in unicodedata.normalize("NFKD", text):
        if unicodedata.combining(character):
            if base_is_latin:
                continue
        else:
            base_is_latin = "LATIN" in unicodedata.name(character, "")
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def split_name(key: str) -> tuple[str, str]:
    """Return surname and given names of a normalised name.

    Without a comma the last word counts as the surname, as in "Magnus Carlsen".
    """
    surname, comma, given = key.partition(", ")
    if comma:
        return surname, given
    words = key.split(" ")
    return words[-1], " ".join(words[:-1])


def name_signature(name: str | None) -> str | None:
    """Return surname and first initial: the part that sources of one game agree on."""
    key = normalise_name(name)
    if key is None:
        return None
    surname, given = split_name(key)
    return f"{surname}/{given[:1]}"
