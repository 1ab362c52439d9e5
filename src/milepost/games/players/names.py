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
_QUIET_ASCII = b".'`\""
_LOWER_AND_BLANK = bytes(range(256)).lower().replace(b"-", b" ")
"""What becomes of each ASCII letter: a small letter, a blank, itself."""


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
    if not len(names):
        return names.cast(pl.String)
    is_other, is_somebody = _name_steps()
    written = names.alias("").fill_null("")
    others = np.flatnonzero(written.to_frame().select(is_other).to_series().to_numpy())
    plain = written.scatter(others, "") if len(others) else written
    text = _plain_forms(plain.str.join("\n")[0].encode("ascii")).decode("ascii")
    plain = pl.Series("", [text]).str.split("\n").explode()
    if len(others):
        plain = plain.scatter(others, [normalise_name(name) for name in names[others]])
    somebody = plain.to_frame().select(pl.when(is_somebody).then(pl.col("")))
    return somebody.to_series().alias(names.name)


def _plain_forms(lines: bytes) -> bytes:
    """Return the normal forms of names of printable ASCII letters, a name a line.

    A pass over all names at once for each step of `normalise_name`: a name by itself, or an
    expression that is sought in every name, would take several times as long.
    """
    text = b"\n" + lines.translate(_LOWER_AND_BLANK, _QUIET_ASCII) + b"\n"
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" ,", b",")
    # Most commas are followed by a blank already; to put one behind each is the slow part.
    if b",," in text or text.count(b",") != text.count(b", "):
        text = text.replace(b", ", b",")
        while b",," in text:
            text = text.replace(b",,", b",")
        text = text.replace(b",", b", ")
    for end in (b" \n", b",\n"):
        text = text.replace(end, b"\n")
    for begin in (b"\n, ", b"\n "):
        text = text.replace(begin, b"\n")
    return text[1:-1]


@cache
def _name_steps() -> tuple[pl.Expr, pl.Expr]:
    """Whether a name has letters that are not plain, and whether a normal form names somebody."""
    written = pl.col("")
    is_other = ~written.str.contains(r"^[\x20-\x7e]*$")
    nobody = written.is_in(sorted(_NOBODY)) | (written.str.strip_chars("?* ") == "")
    return is_other, ~nobody


def name_signatures(names: pl.Series) -> pl.Series:
    """Return surname and first initial of every name: what sources of one game agree on."""
    keys = normalise_names(names).alias("key")
    if not len(keys):
        return keys
    behind_comma, last_word, has_comma = _signatures()
    parts = keys.to_frame().select(pl.col("key").str.splitn(", ", 2).alias("part")).unnest("part")
    signatures = parts.select(behind_comma).to_series().alias("key")
    others = np.flatnonzero(~parts.select(has_comma).to_series().to_numpy())
    if len(others):
        signatures = signatures.scatter(others, keys[others].to_frame().select(last_word)["key"])
    return signatures


@cache
def _signatures() -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Signatures of the parts of names with a comma, and of others, and whether there is one."""
    surname, given, key = pl.col("field_0"), pl.col("field_1"), pl.col("key")
    first_word = pl.when(key.str.contains(" ", literal=True)).then(key.str.head(1))
    last_word = pl.concat_str(
        key.str.extract("([^ ]+)$"), pl.lit("/"), first_word.otherwise(pl.lit(""))
    )
    behind_comma = pl.concat_str(surname, pl.lit("/"), given.str.head(1))
    return behind_comma, last_word.alias("key"), given.is_not_null()


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
