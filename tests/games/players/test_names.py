"""One form for the many ways in which the same spelling is written."""

from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from milepost.games.players.names import (
    name_signatures,
    normalise_name,
    normalise_names,
    split_name,
)

REALISTIC = st.text(alphabet="AaBbnN ,.-–'’`´\"éÉŁłØßİıæñđ藤ガКй#?", max_size=12)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("CARLSEN,Magnus", "carlsen, magnus"),
        ("Carlsen ,  Magnus", "carlsen, magnus"),
        ("  Carlsen, Magnus  ", "carlsen, magnus"),
        ("Carlsen,, Magnus,", "carlsen, magnus"),
        ("Müller-Łoś , J.", "muller los, j"),
        ("Vachier–Lagrave, M", "vachier lagrave, m"),
        ("O'Kelly de Galway, A.", "okelly de galway, a"),
        ("O’Kelly de Galway, A", "okelly de galway, a"),
        ("O´Kelly de Galway, A", "okelly de galway, a"),
        ("Nguyễn, Ngọc Trường Sơn", "nguyen, ngoc truong son"),
        ("Đặng", "dang"),
        ("Straße, Æsir", "strasse, aesir"),
        ("STRASSE, AESIR", "strasse, aesir"),
        ("IŞIK, İ", "isik, i"),
        ("ＣＡＲＬＳＥＮ，Ｍ", "carlsen, m"),
        ("Carlsen,\tMagnus\u00a0Øen", "carlsen, magnus oen"),
    ],
)
def test_known_forms(name: str, form: str) -> None:
    assert normalise_name(name) == form


@pytest.mark.parametrize(
    "name",
    ["", " ", "?", "-", "N.N.", "NN", "N. N.", "n", "Unknown", "ANONYMOUS", ",", "White"],
)
def test_nobody_is_named(name: str) -> None:
    assert normalise_name(name) is None


def test_nobody_is_none() -> None:
    assert normalise_name(None) is None


def test_person_whose_name_begins_like_nobody_is_somebody() -> None:
    assert normalise_name("White, John") == "white, john"
    assert normalise_name("Nn, A") == "nn, a"


# Marks there are part of the letter: ガ is another letter than カ, й than и.
@pytest.mark.parametrize(
    "name", ["藤井 聡太", "ガリ", "이세돌", "हिन्दी", "карпов, анатолий", "ёлкин"]
)
def test_other_scripts_are_not_damaged(name: str) -> None:
    assert normalise_name(name) == name


@pytest.mark.parametrize(("one", "two"), [("カリ", "ガリ"), ("Иван", "Йван"), ("가", "각")])
def test_letters_of_other_scripts_stay_different(one: str, two: str) -> None:
    assert normalise_name(one) != normalise_name(two)


def test_cyrillic_case_is_evened_out() -> None:
    assert normalise_name("КАРПОВ, Анатолий") == normalise_name("Карпов,анатолий")


@pytest.mark.parametrize("name", ["Müller", "Йордан", "ガリ", "이세돌", "Nguyễn"])
def test_composed_and_decomposed_text_are_one_spelling(name: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, name) for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert normalise_name(composed) == normalise_name(decomposed)


@settings(max_examples=300)
@given(ANY_TEXT | REALISTIC)
@example("?ℕ")  # a letter that is a capital only after it is taken apart
@example("a.\u0301")  # a mark that meets its letter only after the dot is gone
@example("kPa㎪")
def test_normalising_twice_changes_nothing(name: str) -> None:
    once = normalise_name(name)
    assert normalise_name(once) == once


@settings(max_examples=300)
@given(REALISTIC)
def test_case_does_not_count(name: str) -> None:
    assert normalise_name(name.upper()) == normalise_name(name.upper().lower())


@given(st.text(alphabet="abcdé, ", max_size=10))
def test_dots_and_blanks_do_not_count(name: str) -> None:
    assert normalise_name(f" {name.replace(' ', '  ')}. ") == normalise_name(name)


@settings(max_examples=300)
@given(st.lists(st.none() | ANY_TEXT | REALISTIC, max_size=6))
def test_all_at_once_equals_one_by_one(names: list[str | None]) -> None:
    found = normalise_names(pl.Series(names, dtype=pl.String))
    assert found.dtype == pl.String
    assert found.to_list() == [normalise_name(name) for name in names]


@given(st.text(alphabet=[chr(code) for code in range(32, 127)], max_size=15))
def test_plain_path_equals_one_by_one(name: str) -> None:
    assert normalise_names(pl.Series([name])).to_list() == [normalise_name(name)]


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("Carlsen, Magnus", "carlsen/m"),
        ("CARLSEN,M.", "carlsen/m"),
        ("Magnus Carlsen", "carlsen/m"),
        ("M. Carlsen", "carlsen/m"),
        ("van der Berg, Jan", "van der berg/j"),
        ("Carlsen, Magnus, jr", "carlsen/m"),
        ("Carlsen", "carlsen/"),
        ("Carlsen,", "carlsen/"),
        ("Ólafsson, Þ", "olafsson/t"),
        ("Карпов, Анатолий", "карпов/а"),
        ("?", None),
        (None, None),
    ],
)
def test_signature_is_surname_and_initial(name: str | None, signature: str | None) -> None:
    assert name_signatures(pl.Series([name], dtype=pl.String)).to_list() == [signature]


def test_signatures_of_no_names() -> None:
    assert name_signatures(pl.Series([], dtype=pl.String)).to_list() == []


@given(st.lists(st.none() | REALISTIC, min_size=1, max_size=6))
def test_signature_agrees_with_split_name(names: list[str | None]) -> None:
    signatures = name_signatures(pl.Series(names, dtype=pl.String)).to_list()
    for name, signature in zip(names, signatures, strict=True):
        key = normalise_name(name)
        if key is None:
            assert signature is None
        else:
            surname, given_names = split_name(key)
            assert signature == f"{surname}/{given_names[:1]}"


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("carlsen, magnus", ("carlsen", "magnus")),
        ("magnus carlsen", ("carlsen", "magnus")),
        ("carlsen", ("carlsen", "")),
        ("smith, john, jr", ("smith", "john, jr")),
    ],
)
def test_split_name(key: str, parts: tuple[str, str]) -> None:
    assert split_name(key) == parts


@pytest.mark.parametrize("name", ["??", "???", "* *", "? ?"])
def test_question_marks_name_nobody(name: str) -> None:
    assert normalise_name(name) is None
    assert normalise_names(pl.Series([name])).to_list() == [None]
