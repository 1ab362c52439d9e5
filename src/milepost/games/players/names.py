"""Players' names: one form for the many ways in which the same spelling is written.

Only what cannot change who is meant is evened out: case, blanks, diacritics on Latin letters, dots,
hyphens and the blank behind the comma. Whether two different spellings are one person is decided in
`milepost.games.players.resolve`, on evidence.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np
import polars as pl

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


_SOUNDS = (
    ("tsch", "c"), ("tch", "c"), ("sch", "s"), ("ch", "c"), ("sh", "s"), ("zh", "z"), ("kh", "h"),
    ("ck", "k"), ("ph", "f"), ("ts", "z"), ("tz", "z"), ("w", "v"), ("y", "i"), ("j", "i"),
    ("q", "k"), *((2 * letter, letter) for letter in "abcdefghiklmnoprstuvxz"),
)  # fmt: skip
"""Letters that transliterations write in several ways, in the order of their replacement."""


def normalise_name(name: str | None) -> str | None:
    """Return the form of a name that its spellings share; `None` where no person is named.

    >>> normalise_name("CARLSEN,Magnus")
    'carlsen, magnus'
    >>> normalise_name("Müller-Łoś , J.")
    'muller los, j'
    """
    if name is None:
        return None
    # Quiet characters go first, since "´" falls apart into a blank and a mark, and once more,
    # since some others become one.
    plain = _QUIET.sub("", _folded(_QUIET.sub("", name)))
    plain = _SEPARATORS.sub(" ", _without_diacritics(plain).translate(_LETTERS_WITHOUT_PARTS))
    parts = [part.strip() for part in plain.split(",")]
    joined = ", ".join(part for part in parts if part)
    return None if joined in _NOBODY or not joined.strip("?* ") else joined


def _folded(text: str) -> str:
    """Even out case and compatibility forms: Unicode's caseless match (D146), taken apart."""
    if text.isascii():
        return text.lower()
    for form in ("NFD", "NFKD", "NFKD"):
        text = unicodedata.normalize(form, text).casefold()
    return unicodedata.normalize("NFKD", text)


def _without_diacritics(text: str) -> str:
    """Drop marks on Latin letters only: elsewhere (Japanese, Indic) a mark makes another letter."""
    if text.isascii():
        return text
    kept: list[str] = []
    base_is_latin = False
    for character in text:
        if unicodedata.combining(character):
            if base_is_latin:
                continue
        else:
            base_is_latin = "LATIN" in unicodedata.name(character, "")
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def normalise_names(names: pl.Series) -> pl.Series:
    """Return `normalise_name` of every name; plain names all at once, the others one by one."""
    written, plain_form, is_other, is_somebody = _name_steps()
    # All in one query: for the few names of most inputs its start is what costs.
    found = names.alias("").to_frame().select(plain_form, is_other)
    plain = found[""]
    others = np.flatnonzero(found["other"].to_numpy())
    if len(others):
        plain = plain.scatter(others, [normalise_name(name) for name in names[others]])
    return plain.to_frame().select(pl.when(is_somebody).then(written)).to_series().alias(names.name)


@cache
def _name_steps() -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """The name as written, its plain form, whether it has another one, and whether it names one."""
    written = pl.col("")
    plain_form = (
        written.str.to_lowercase()
        .str.replace_all(_QUIET.pattern, "")
        .str.replace_all(_SEPARATORS.pattern, " ")
        .str.replace_all(r"(?: ?,)+ ?", ", ")
        .str.strip_chars(" ,")
    )
    is_other = (~written.str.contains(r"^[\x20-\x7e]*$")).fill_null(False)
    nobody = written.is_in(sorted(_NOBODY)) | (written.str.strip_chars("?* ") == "")
    return written, plain_form, is_other.alias("other"), ~nobody


def name_signatures(names: pl.Series) -> pl.Series:
    """Return surname and first initial of every name: what sources of one game agree on."""
    key = normalise_names(names).alias("key")
    return key.to_frame().select(_signature())["key"] if len(key) else key


@cache
def _signature() -> pl.Expr:
    key = pl.col("key")
    behind_comma = pl.concat_str(
        key.str.extract("^(.*?), "), pl.lit("/"), key.str.extract("^.*?, (.)").fill_null("")
    )
    last_word = pl.concat_str(
        key.str.extract("([^ ]+)$"), pl.lit("/"), key.str.extract("^(.).* ").fill_null("")
    )
    return pl.when(key.str.contains(", ", literal=True)).then(behind_comma).otherwise(last_word)


def split_name(key: str) -> tuple[str, str]:
    """Return surname and given names of a normalised name.

    Without a comma the last word counts as the surname, as in "Magnus Carlsen".
    """
    surname, comma, given = key.partition(", ")
    if comma:
        return surname, given
    words = key.split(" ")
    return words[-1], " ".join(words[:-1])


def sound(name: str) -> str:
    """Return a normalised name with what transliterations write in several ways made one.

    >>> sound("kortschnoj, v") == sound("kortchnoi, v") == sound("korchnoi, v")
    True
    """
    for written, made_one in _SOUNDS:
        name = name.replace(written, made_one)
    return name


def sounds(names: pl.Series) -> pl.Series:
    """Return `sound` of every name."""
    for written, made_one in _SOUNDS:
        names = names.str.replace_all(written, made_one, literal=True)
    return names
