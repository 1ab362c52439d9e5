"""The fair-play report: its words, no names, nothing escapes, two printed pages, the same bytes."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report import check_views as views
from tests.report.check.test_charts import reds
from tests.report.test_pages import Walker

from milepost.errors import OutputError
from milepost.fairplay import words
from milepost.fairplay.reference.honest import HonestPlayers, Reference
from milepost.report.check.page import CheckView, check_page, write_check_report
from milepost.report.pages import page_text
from milepost.report.printed import _BUNDLED, page_data, page_pdf

HOSTILE = '<script>x</script> #eval("1") #panic("2") $a$ *b* _c_ @d \\e `f` // g'


def honest(count: int = 312) -> HonestPlayers:
    values = np.sort(np.random.default_rng(1).normal(size=count))
    return HonestPlayers(
        calibration="invented", offset=(0.0, 0.0), player_sd=80.0, event_sd=50.0, game_sd=0.0,
        game_dispersion=1.2, bias=np.zeros((2, 3)), dispersion=np.ones(3),
        reference=Reference(values, values, values), rests_on="34 round-robins",
    )  # fmt: skip


def view_of(**changed: Any) -> CheckView:
    known: dict[str, Any] = {
        "table": views.screening_table(),
        "labels": views.PSEUDONYMS,
        "event": views.event(),
        "luck": views.split(),
        "honest": honest(),
        "event_name": "Sample League 2021",
        "notes": ("The book ends with move 8.",),
        "looks": "3 different looks at 30 performances.",
        "command": "milepost check event.pgn --store evaluations",
    }
    return CheckView(**{**known, **changed})


def full_view(**changed: Any) -> CheckView:
    return view_of(**{"full": (views.full_test(),), **changed})


VIEWS = {
    "screening": view_of(),
    "full": full_view(reply="I prepared these lines."),
    "names": full_view(labels=views.WRITTEN),
    "bare": view_of(event=None, luck=None, honest=None, notes=(), looks="", command="",
                    event_name=""),
    "bare full": full_view(event=None, luck=None, honest=None, notes=(), looks="", command="",
                           full=(views.full_test(reference=0, rounds=False, ln_e=-2.0),)),
    "little": full_view(full=(views.full_test(
        turns=96, games=4, too_little="96 turns where 150 are wanted"),)),
    "deep": full_view(full=(views.full_test(deep=views.deep_look()),)),
}  # fmt: skip


@cache
def html(view: CheckView) -> str:
    text = page_text(check_page(view, views.MADE))
    walker = Walker()
    walker.feed(text)
    assert not walker.open
    assert "script" not in walker.seen
    return text


@cache
def pdf_sources(view: CheckView) -> str:
    """All that the PDF is made of, but for the template."""
    text, charts = page_data(check_page(view, views.MADE))
    return "\n".join([text, *charts.values()])


def seen(text: str) -> str:
    """What a reader sees of a page."""
    plain = re.sub(r"<style>.*?</style>|<[^>]+>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", plain)


def pages_of(data: bytes) -> int:
    (count,) = {int(found) for found in re.findall(rb"/Type/Pages/Count (\d+)", data)}
    return count


@pytest.mark.parametrize("name", VIEWS)
def test_no_forbidden_word_and_nothing_red(name: str) -> None:
    for text in (html(VIEWS[name]), pdf_sources(VIEWS[name])):
        for word in words.FORBIDDEN:
            assert word not in text.lower()
        assert not reds(text)


@pytest.mark.parametrize("name", VIEWS)
def test_every_report_opens_with_what_it_is_not(name: str) -> None:
    text = seen(html(VIEWS[name]))
    places = [text.index(line[:40]) for line in words.OPENING]
    assert places == sorted(places)
    assert places[-1] < text.index("E = " if VIEWS[name].full else "All players")
    assert words.REPLY[:22] in text
    assert "SHA-256 abab" in text


@pytest.mark.parametrize("full", [False, True])
def test_no_name_appears_where_labels_are_pseudonyms(full: bool) -> None:
    leaky = {
        "notes": (f"{views.TESTED} has no title", "BRANNOCHIE, Tavish came late"),
        "looks": f"2 looks at {views.TESTED}",
        "command": f"milepost check --player '{views.TESTED}'",
        "event_name": f"Memorial of {views.TESTED}",
        "reply": "Marovčinski, Jelka says: no.",
        "hidden": {"Marovčinski, Jelka": "Player 04"},
        "table": views.screening_table().with_columns(
            pl.format("like {}", "player").alias("warnings")
        ),
    }
    view = full_view(**leaky) if full else view_of(**leaky)
    made = {**views.MADE, "options": {"player": [views.TESTED]}}
    text, _ = page_data(check_page(view, made))
    page = page_text(check_page(view, made))
    for name in (*views.KEYS, *views.NAMES):
        assert name.lower() not in page.lower()
        assert name.lower() not in text.lower()
    assert "event.pgn" not in page.replace(view.command, "")
    assert "Player 04" in page


def test_names_appear_where_labels_carry_them() -> None:
    text = seen(html(view_of(labels=views.WRITTEN)))
    for name in views.NAMES:
        assert name in text


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    labels = {**views.PSEUDONYMS, views.TESTED: HOSTILE}
    for view in (
        view_of(labels=labels, event_name=HOSTILE, notes=(HOSTILE,), reply=HOSTILE),
        full_view(labels=labels, event_name=HOSTILE, reply=HOSTILE, looks=HOSTILE,
                  command=HOSTILE),
    ):  # fmt: skip
        page = html(view)
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        data = page_pdf(check_page(view, views.MADE))
        assert data.startswith(b"%PDF")
        _, charts = page_data(check_page(view, views.MADE))
        assert all("<script" not in svg for svg in charts.values())


def test_the_template_reads_no_text_as_markup() -> None:
    """Whatever is in the data is shown, never run."""
    template = Path(sys.modules["milepost.report.printed"].__file__ or "").with_name("page.typ")
    assert not re.search(r"\beval\(|mode: *\"markup\"", template.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["full", "names", "bare full", "little", "deep"])
def test_a_full_test_is_two_printed_pages(name: str) -> None:
    assert pages_of(page_pdf(check_page(VIEWS[name], views.MADE))) == 2
    assert html(VIEWS[name]).count('<div class="sheet">') == 2


def test_several_full_tests_and_a_long_reply_have_pages_of_their_own() -> None:
    two = full_view(full=(views.full_test(), views.full_test(views.KEYS[0])))
    assert pages_of(page_pdf(check_page(two, views.MADE))) == 4
    long = full_view(reply="I prepared these lines. " * 60)
    assert pages_of(page_pdf(check_page(long, views.MADE))) == 3
    assert "on the next page" in seen(html(long))


@pytest.mark.parametrize("ending", ["html", "pdf"])
@pytest.mark.parametrize("name", ["screening", "names"])
def test_the_same_view_gives_the_same_bytes(tmp_path: Path, name: str, ending: str) -> None:
    paths = [tmp_path / f"{place}/report.{ending}" for place in "ab"]
    for path in paths:
        path.parent.mkdir()
        write_check_report(VIEWS[name], path, made=views.MADE)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_accents_and_cyrillic_need_no_fonts_of_the_machine() -> None:
    text, _ = page_data(check_page(VIEWS["names"], views.MADE))
    assert _BUNDLED.fullmatch(text)
    assert _BUNDLED.fullmatch(" ".join(views.NAMES))
    assert not _BUNDLED.fullmatch("棋")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"must end in \.html or \.pdf"):
        write_check_report(VIEWS["screening"], tmp_path / "report.docx", views.MADE)


def test_without_typst_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(OutputError, match=r"milepost\[pdf\]"):
        write_check_report(VIEWS["screening"], tmp_path / "report.pdf", views.MADE)
    assert not list(tmp_path.iterdir())


def test_the_evidence_is_told_with_its_bound_its_floor_and_its_power() -> None:
    text = seen(html(VIEWS["full"]))
    assert "E = 12.2: moderate support for: a share of the moves" in text
    assert "1/E = 0.082" in text
    assert "among 312 real honest performances, which cannot give less than 0.0032" in text
    assert (
        "On these 231 turns help with one move in five from another engine would be noticed in 13 "
        "of 100 cases (at one false alarm in 100)." in text
    )
    assert "match and error 0.62" in text
    assert "1 to 10,000" in text
    assert "smallest E" in text
    assert "largest E" in text
    # e^2.7 and e^2.25 of the view; their mean is E.
    assert "whole menu is 14.9. The count ratio" in text
    assert "I prepared these lines." in text


def test_the_deep_look_is_told_beside_the_ratio_without_it() -> None:
    """E is the mean of both: e^8.8 = 6,630, not e^9.5, and not e^2.5 = 12."""
    text = seen(html(VIEWS["deep"]))
    assert "E = 6,634" in text
    assert "agrees with 61% of 240 moves" in text
    assert "in 47% (12 performances" in text
    assert "a deep search, 1 in 100" in text
    # Twice the smaller of p = 0.014 without it and 1/41, the least that 40 can give, with it.
    assert "0.024 among 40 honest performances" in text
    assert "p of both together is 0.028" in text


def test_a_deep_look_with_few_honest_performances_behind_it_leaves_e_alone() -> None:
    text = seen(html(full_view(full=(views.full_test(deep=views.deep_look(8)),))))
    assert "E = 6,634" not in text
    assert "it was tried on 8 honest performances, and at least 30 are needed" in text
    assert "the ratio would be" in text


def test_too_little_puts_the_power_before_everything() -> None:
    text = seen(html(VIEWS["little"]))
    headline = text.index("Too little for a full test: 96 turns where 150 are wanted")
    assert headline < text.index("would be noticed in 13 of 100 cases")
    assert text.index("would be noticed in 13 of 100 cases") < text.index("This is evidence")


def test_single_moves_lie_in_a_fold_that_is_not_printed() -> None:
    page = html(VIEWS["full"])
    fold = page[page.index('<details class="fold">') :]
    assert "Single moves are not evidence" in fold
    assert "Nf3" in fold
    assert "Nf3" not in page[: page.index('<details class="fold">')]
    assert "Nf3" not in pdf_sources(VIEWS["full"])
    assert ".fold, footer { display: none; }" in page


def test_what_is_missing_is_said() -> None:
    text = seen(html(VIEWS["bare"]))
    assert "nothing can be said of the event" in text
    assert "The results were not split" in text
    assert "no measured honest performances" in text
    assert "No ledger was kept" in text
    assert "The command was not told." in text
    assert "No reply is attached." in text
    text = seen(html(VIEWS["bare full"]))
    assert "Evidence by game" in text
    assert "The rounds are not known." in text
    assert "rests on the model alone" in text
    assert "E is not above 1, so these moves do not speak for help." in text
    assert "strong support" not in text


def test_nobody_with_an_index_still_gives_a_page() -> None:
    columns = ("index", "p", "ln_e", "e_worst", "z", "noticed", "mirror_p", "low", "high", "rating")
    empty = views.screening_table().with_columns(
        pl.lit(None, dtype=pl.Float64).alias(name) for name in columns
    )
    text = seen(html(view_of(table=empty, event=None)))
    assert "10 players, 0 with an index" in text
    assert "this screening could see nothing" in text


def test_the_table_stands_as_given_and_notes_are_numbered() -> None:
    table = views.screening_table().sort("player", descending=True)
    page = html(view_of(table=table))
    first = page[page.index("<table") : page.index("</table>")]
    shown = re.findall(r"<td>(Player \d\d)</td>", first)
    assert shown == [views.PSEUDONYMS[key] for key in table["player"]]
    assert "Note 1: 41 turns: fewer than 60." in seen(page)


def test_a_shifted_event_is_said_to_be_shifted() -> None:
    text = seen(html(view_of(event=replace(views.event(), mean_low=40.0, mean_high=44.0))))
    assert "This event lies outside" in text
    assert "is not shifted" not in text


def test_notes_are_sentences_and_next_to_nothing_has_no_sign() -> None:
    small = views.split().with_columns(pl.lit(-0.01).alias("rest"))
    text = seen(html(view_of(notes=("games up to round 3 alone",), luck=small)))
    assert "Games up to round 3 alone." in text
    assert "0.0 ± 0.7" in text
    assert "−0.0" not in text
