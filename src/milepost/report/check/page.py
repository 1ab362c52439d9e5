"""The fair-play report: what was found, how sure that is, and what could not have been seen.

A screening is one page about all players of an event; a full test is two printed pages about one
performance. Words follow `milepost.fairplay.words`: evidence, never a judgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import polars as pl

from milepost.errors import OutputError
from milepost.fairplay import words
from milepost.fairplay.screen import NOTICED_FALSE_ALARMS
from milepost.io.shown import interval_text
from milepost.report.check.full import full_sections
from milepost.report.check.view import (
    LONG_REPLY,
    CheckView,
    Labels,
    Marks,
    answer_text,
    count_text,
    index_section,
    notes_section,
    of_100,
    one_in,
    opening_section,
    p_text,
    points_text,
    qq_section,
    ratio_text,
    recompute_section,
    signed,
    with_error,
)
from milepost.report.pages import Beside, Fold, Page, Section, Table, Text, write_page
from milepost.report.printed import write_pdf

__all__ = ["ENDINGS", "CheckView", "check_page", "write_check_report"]

ENDINGS = (".html", ".htm", ".pdf")
"""How a report's name ends."""


def write_check_report(view: CheckView, path: str | Path, made: Mapping[str, Any]) -> None:
    """Write the report as HTML or PDF, whole or not at all; the ending says which.

    Parameters
    ----------
    view
        What it is about.
    path
        Where to.
    made
        Provenance; names of players in it are replaced as everywhere.

    Raises
    ------
    OutputError
        If the ending is another, it cannot be written, or what makes PDF is not installed.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OutputError(f"{path}: a report is HTML or PDF; its name must end in .html or .pdf")
    page = check_page(view, made)
    if ending == ".pdf":
        write_pdf(page, path)
    else:
        write_page(page, path)


def check_page(view: CheckView, made: Mapping[str, Any]) -> Page:
    """Return the report: a page of sheets if there are full tests, else that of the screening."""
    names = Labels(view)
    sections: list[Section] = []
    if view.full:
        for test in view.full:
            sections += full_sections(view, test, names, made)
        kind, about = "full test", ", ".join(names[test.performance.player] for test in view.full)
    else:
        sections += _screening_sections(view, names, made)
        indexed = int(view.table["index"].is_not_null().sum())
        kind, about = "screening", f"{len(view.table)} players, {indexed} with an index"
    title = view.title or f"Fair-play report: {kind}"
    lead = f"{names.scrub(view.event_name)}: {about}." if view.event_name else f"{about}."
    return Page(names.scrub(title), tuple(sections), _without_names(made, names), lead=lead)


def _without_names(made: Any, names: Labels) -> Any:
    """Provenance without players, and without the names of files: digests tell these apart."""
    if isinstance(made, str):
        return names.scrub(made)
    if isinstance(made, Mapping):
        inputs = "sha256" in made
        return {
            names.scrub(str(key)): _without_names(value, names)
            for key, value in made.items()
            if not (inputs and key == "name")
        }
    if isinstance(made, list | tuple):
        return [_without_names(value, names) for value in made]
    return made


def _screening_sections(view: CheckView, names: Labels, made: Mapping[str, Any]) -> list[Section]:
    return [
        opening_section(view),
        _screening_table(view, names),
        *_event_sections(view, names),
        _luck_section(view, names),
        Text(_MEANING, "What the columns mean"),
        Text(_unseen(view.table), "What the test could not have seen"),
        notes_section(view, names),
        Text(answer_text(view, names), "How the player may answer"),
        *(
            [Text(names.scrub(view.reply), "The reply", "box")]
            if len(view.reply) > LONG_REPLY
            else []
        ),
        recompute_section(view, names, made),
        _behind_the_index(view, names),
    ]


_MEANING = (
    "- Index: 50 + 5 z, where z joins match rate, error and likelihood. Among honest players of "
    "the same rating its mean is 50 and its standard deviation 5. It is a thermometer, not a "
    "diagnosis: of fifty honest players one has about 60 or more.\n"
    "- p: how often an honest player does as well or better. It is the larger of two: by the "
    "model, and among honest performances that were measured.\n"
    f"- E: the evidence ratio. It compares “{words.HELPED}” with “{words.ALONE}”. Among honest "
    "players its mean is at most 1, so a ratio of 20 comes at most once in 20, and usually far "
    "less often. Below 1 it speaks for the player alone.\n"
    "- Worst case: the same, whatever the player's true strength is.\n"
    "- IPR: the Elo of the players whose moves look most like these. These games: how well they "
    "were played, with its interval.\n"
    "- Opponents p: how often honest opponents play as far below themselves as this player's "
    "opponents did in just these games. It says nothing about reasons."
)


def _screening_table(view: CheckView, names: Labels) -> Table:
    rows = []
    marks = Marks(names)
    for row in view.table.iter_rows(named=True):
        known = row["index"] is not None
        source = row.get("elo_from") or ""
        remarks = [
            row["reason"] or "",
            "" if source in ("", "in the game") else f"Elo: {source}",
            *(row["warnings"] or "").split("; "),
        ]
        rows.append(
            {
                "player": names[row["player"]],
                "Elo": points_text(row["elo"]),
                "turns": row["turns"],
                "games": row["games"],
                "IPR": points_text(row["rating"]),
                "these games": interval_text(row["low"], row["high"]),
                "index": f"{row['index']:.1f}" if known else "–",
                "p": p_text(row["p"]),
                "E": "–" if row["ln_e"] is None else words.ratio_text(row["ln_e"]),
                "worst case": ratio_text(row["e_worst"]),
                "noticed": "–" if row["noticed"] is None else of_100(row["noticed"]),
                "opponents p": p_text(row["mirror_p"]),
                "notes": marks.of(remarks),
            }
        )
    return Table(
        "All players",
        pl.DataFrame(rows, infer_schema_length=None),
        note="Noticed: in how many of 100 cases help with one move in five would have been noticed "
        f"on these turns, at one false alarm in {one_in(NOTICED_FALSE_ALARMS)}.{marks.told}",
        numbers=("Elo", "IPR", "these games", "index", "p", "E", "worst case", "noticed",
                 "opponents p"),
    )  # fmt: skip


def _event_sections(view: CheckView, names: Labels) -> list[Section]:
    title = "The event as a whole"
    event = view.event
    if event is None:
        return [Text("No player has an index, so nothing can be said of the event.", title)]
    inside = event.mean_low <= event.mean_index <= event.mean_high
    shift = (
        "So the event as a whole is not shifted."
        if inside
        else "This event lies outside: something moves its players together, such as ratings that "
        "are too low or too high, or a field unlike those that were measured. Read every index "
        "with that in mind."
    )
    body = (
        f"- Mean index: {event.mean_index:.1f} over {count_text(event.players, 'player')}. The "
        f"mean of so many honest players lies between {event.mean_low:.1f} and "
        f"{event.mean_high:.1f} in 95 of 100 events. {shift}\n"
        f"- Largest index: the highest of {count_text(event.players, 'honest player')} is at "
        f"least as high with a probability of {words.p_text(event.largest_p)}.\n"
        f"- Over all players together (e-BH, false discoveries held to one in twenty): "
        f"{count_text(event.discoveries, 'performance')} "
        f"{'stands' if event.discoveries == 1 else 'stand'} out."
    )
    counts = event.counts.select(
        pl.format("{} or more", "index").alias("index"),
        pl.Series("expected", [f"{value:.2g}" for value in event.counts["expected"]]),
        "found",
        pl.Series("chance of as many", [p_text(value) for value in event.counts["chance"]]),
    )
    return [
        Text(body, title),
        Table(
            "Indices expected of honest players, and found",
            counts,
            numbers=("expected", "chance of as many"),
        ),
        Beside((qq_section(view, names, ()), index_section(view, names, (), named=True))),
    ]


def _luck_section(view: CheckView, names: Labels) -> Table | Text:
    title = "Where the results came from"
    if view.luck is None or view.luck.is_empty():
        return Text("The results were not split: no game has a result and both ratings.", title)
    split = {row["player"]: row for row in view.luck.iter_rows(named=True)}
    # In the order of the first table, and others after them.
    order = [key for key in view.table["player"] if key in split]
    rows = []
    marks = Marks(names)
    for key in [*order, *(key for key in split if key not in set(order))]:
        row = split[key]
        known = row["surplus"] is not None
        rows.append(
            {
                "player": names[key],
                "score": f"{row['score']:.1f} of {row['games']}" if known else "–",
                "expected": f"{row['expected']:.1f}" if known else "–",
                "surplus": signed(row["surplus"]),
                "own play": with_error(row["own_play"], row["own_play_se"]),
                "others' play": with_error(row["opponents_play"], row["opponents_play_se"]),
                "rest": with_error(row["rest"], row["rest_se"]),
                "chance": f"± {row['chance_sd']:.1f}" if known else "–",
                "their Elo": points_text(row["opponents_elo"]),
                "IPR here": points_text(row["opponents_rating"]),
                "elsewhere": points_text(row["elsewhere_rating"]),
                "notes": marks.of([row["reason"] or ""]),
            }
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if not marks.told:
        frame = frame.drop("notes")
    return Table(
        title,
        frame,
        note="In points of score, over games in which turns of both sides count. The surplus is "
        "the score less what the Elos promise; own play, "
        "the others' play and the rest add up to it. Chance: how much results vary anyway. "
        "Others: the opponents; their Elo, their IPR in the games against this player, and in "
        f"their other games.{marks.told}",
        numbers=tuple(name for name in frame.columns if name not in ("player", "notes")),
    )


def _unseen(table: pl.DataFrame) -> str:
    known = table["noticed"].drop_nulls()
    if known.is_empty():
        return "No player has enough turns for an index, so this screening could see nothing."
    low, high = float(cast("float", known.min())), float(cast("float", known.max()))
    extent = of_100(low) if of_100(low) == of_100(high) else f"{of_100(low)} to {of_100(high)}"
    return (
        "The column “noticed” is the power of this test: help with one move in five would have "
        f"been noticed in {extent} of 100 cases here, at one false alarm in "
        f"{one_in(NOTICED_FALSE_ALARMS)}. In the other cases it would have looked like this. Help "
        "with one move a game, or from an engine unlike ours, is seen far less often. A low index "
        "clears nobody, and a player without an index was not tested."
    )


def _behind_the_index(view: CheckView, names: Labels) -> Fold:
    wanted = ["z", "z_match", "z_error", "z_likelihood"]
    frame = view.table.select(
        pl.Series("player", [names[key] for key in view.table["player"]], dtype=pl.String),
        *wanted,
        "p_reference",
        pl.Series(
            "the player",
            [
                interval_text(row["player_low"], row["player_high"])
                for row in view.table.iter_rows(named=True)
            ],
        ),
    )
    table = Table(
        "The three figures, adjusted",
        frame,
        note="z joins the three others with their correlations; they come from the same moves and "
        "are never added up. The player: how strong the player is, with its interval.",
        digits={**dict.fromkeys(wanted, 2), "p_reference": 3},
        numbers=("the player",),
    )
    return Fold("The figures behind the index", (table,))
