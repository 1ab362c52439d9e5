"""The full test of one performance on two printed pages: evidence first, then what it hangs on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from milepost.fairplay import words
from milepost.fairplay.evidence import menu
from milepost.fairplay.evidence.ratio import Evidence
from milepost.fairplay.evidence.simulate import PowerCell
from milepost.fairplay.full import FullTest
from milepost.fairplay.screen import NOTICED_FALSE_ALARMS
from milepost.intrinsic.calibration.player_variation import PUBLISHED_AD, PUBLISHED_MM
from milepost.io.shown import interval_text
from milepost.report.check.charts import evidence_chart, power_chart
from milepost.report.check.view import (
    LONG_REPLY,
    CheckView,
    Labels,
    answer_text,
    capital,
    count_text,
    exact,
    index_section,
    notes_section,
    odds_text,
    of_100,
    one_in,
    opening_section,
    points_text,
    qq_section,
    recompute_section,
    signed,
)
from milepost.report.pages import Beside, Chart, Fold, Section, Sheet, Table, Text

_HELPER, _SHARE = "another engine", 0.2
"""The help that the sentence of power is about."""
_SHARES = {0.05: "one move in twenty", 0.1: "one move in ten", 0.2: "one move in five",
           0.4: "two moves in five", 1.0: "every move"}  # fmt: skip
_ORDINARY = (
    "The player is underrated, improving or back from a break.",
    "The opening was prepared further than the moves left out here as book.",
    "The games were forcing, and the good moves easy to find.",
    "The rating is wrong, or belongs to somebody else.",
    "The moves or results in the file are wrong.",
    "Chance: among many players, somebody always stands far from the middle.",
)


def full_sections(
    view: CheckView, test: FullTest, names: Labels, made: Mapping[str, Any]
) -> list[Section]:
    """Return two sheets about one performance, a third for a long reply, and a fold of the moves.

    Parameters
    ----------
    view
        What the report is about.
    test
        The full test.
    names
        What players are called.
    made
        Provenance.
    """
    label = names[test.performance.player]
    headline = []
    if test.too_little:
        headline.append(
            Text(
                _power_sentence(test) or "What this test would have noticed is not known.",
                f"Too little for a full test: {test.too_little}",
                "large",
            )
        )
    first = Sheet(
        (
            *headline,
            opening_section(view),
            Text(_who(view, test, label, names), "Who"),
            Text(
                f"1: {capital(words.ALONE)}.\n\n2: {capital(words.HELPED)}.",
                "The two statements",
            ),
            Text(
                f"E = {words.ratio_text(test.ln_e)}: {words.support(test.ln_e)}.",
                "The evidence",
                "large",
            ),
            Text(_strength(test)),
            _figures(test),
            Beside((_shares(test), _posterior(test))),
            Text(_power_text(test), "What this test could have seen"),
            *_power_table(test),
            notes_section(view, names),
        ),
        f"{label}: the evidence",
    )
    long = len(view.reply) > LONG_REPLY
    charts = (
        _evidence_by_round(test), index_section(view, names, [test], named=False),
        _power(test), qq_section(view, names, [test]),
    )  # fmt: skip
    second = Sheet(
        (
            Beside(charts),
            _sensitivity(test, names),
            _alternatives(test),
            Beside(
                (
                    Text("\n".join(f"- {line}" for line in _ORDINARY), "Ordinary explanations"),
                    Text(answer_text(view, names), "How the player may answer"),
                )
            ),
            recompute_section(view, names, made),
        ),
        f"{label}: pictures and variants",
    )
    third = [Sheet((Text(names.scrub(view.reply), "The reply"),))] if long else []
    return [first, second, *third, _trace(test)]


def _who(view: CheckView, test: FullTest, label: str, names: Labels) -> str:
    real = test.performance
    mine = view.table.filter(pl.col("player") == real.player)
    row = mine.row(0, named=True) if len(mine) else {}
    source = f" ({row['elo_from']})" if row.get("elo_from") else ""
    by_moves = ""
    if row.get("rating") is not None or row.get("low") is not None:
        by_moves = (
            f" Rating by moves {points_text(row['rating'])}: these games "
            f"{interval_text(row['low'], row['high'])}, the player "
            f"{interval_text(row['player_low'], row['player_high'])}."
        )
    warned = names.scrub(row.get("warnings") or "")
    return (
        f"{label}: rating before the event {real.rating:.0f}{source}, "
        f"{count_text(len(real), 'turn')} in {count_text(real.games, 'game')}.{by_moves} Index "
        f"{test.index.index:.1f}; among honest players of this rating its mean is 50 and its "
        "standard deviation 5." + (f" Note: {warned}." if warned else "")
    )


def _strength(test: FullTest) -> str:
    ln_e, chance = test.ln_e, test.chance
    bound = (
        "An honest player reaches this E with a probability of at most "
        f"1/E = {words.p_text(float(np.exp(-ln_e)))}, no matter when or how often somebody looks."
        if ln_e > 0
        else "E is not above 1, so these moves do not speak for help."
    )
    simulated = (
        f"{words.p_text(chance.p_simulated)} ± {chance.p_simulated_se:.1g} among {chance.draws:,} "
        "simulated performances on the same turns"
    )
    if chance.p_reference is None or chance.floor is None:
        p = (
            f"p = {simulated}. No honest performances were measured for this set-up, so p rests on "
            "the model alone."
        )
    else:
        p = (
            f"p = {words.p_text(chance.p, chance.floor)}, the larger of two: {simulated}, and "
            f"{words.p_text(chance.p_reference, chance.floor)} among {chance.reference:,} real "
            f"honest performances, which cannot give less than {exact(chance.floor)}."
        )
    worst = words.ratio_text(test.index.ln_e_worst)
    return (
        f"- {bound}\n{_deep(test)}- Worst case: {worst}. This ratio holds whatever the player's "
        f"true strength is, even if the rating is wrong.\n- {p} p says how often honest players "
        "give as much evidence. It is not the chance that this player is honest."
    )


def _deep(test: FullTest) -> str:
    """Lines about the deep look, where there is one."""
    deep = test.deep
    if deep is None:
        return ""
    found = (
        f"A search to depth {deep.pull.depth} agrees with {deep.played:.0%} of {deep.turns:,} "
        f"moves. Honest players of this rating agree with it in {deep.expected:.0%} "
        f"({deep.pull.rests_on})."
    )
    ratio = (
        f"{words.ratio_text(deep.ln_e)} (worst case {words.ratio_text(deep.ln_e_worst)}, "
        f"{words.deep_p(deep)})"
    )
    if not deep.pull.counts:
        return f"- {words.not_counted(deep.pull)} With it the ratio would be {ratio}. {found}\n"
    return (
        f"- E is the mean of two ratios: {words.ratio_text(test.index.ln_e)} without the deep look "
        f"and {ratio} with it. {found}\n- p of both together is {words.p_text(test.p)}: twice the "
        "smaller of the two. Worst case and p below are those without the deep look.\n"
    )


_FIGURES = {
    "match": "match rate", "error": "error, scaled pawns", "likelihood": "log-likelihood a turn",
}  # fmt: skip


def _figures(test: FullTest) -> Table:
    pairs = (("match and error", 0, 1), ("match and likelihood", 0, 2),
             ("error and likelihood", 1, 2))  # fmt: skip
    used = ", ".join(f"{name} {float(test.correlation[i, j]):.2f}" for name, i, j in pairs)
    frame = test.figures.select(
        pl.col("figure").replace(_FIGURES),
        "actual",
        "expected",
        pl.col("z_raw").alias("z raw"),
        pl.col("z_adjusted").alias("z adjusted"),
        pl.col("z_published").alias("z published"),
    )
    return Table(
        "The figures",
        frame,
        note="Expected: what agents of this rating do on the same turns. Raw: as if players were "
        "such agents. Adjusted: compared with honest people, who vary more. Published: raw, "
        f"divided by {PUBLISHED_MM} and {PUBLISHED_AD}, for comparison. The figures depend on each "
        f"other ({used}), and the last row allows for that.",
        digits={"actual": 3, "expected": 3, "z raw": 2, "z adjusted": 2, "z published": 2},
    )


def _shares(test: FullTest) -> Table:
    frame = pl.DataFrame(
        {
            "assistant": [share.assistant for share in test.shares],
            "share": [f"{share.share:.0%}" for share in test.shares],
            "95 % interval": [f"{share.low:.0%} to {share.high:.0%}" for share in test.shares],
        }
    )
    return Table(
        "Share of assisted moves, if there were any",
        frame,
        note="If help could come on any turn. An interval that begins at 0 % allows for none.",
        numbers=("share", "95 % interval"),
    )


def _posterior(test: FullTest) -> Table:
    frame = pl.DataFrame(
        {
            "odds before": [odds_text(value) for value in test.posterior["prior_odds"]],
            "odds after": [odds_text(value) for value in test.posterior["posterior_odds"]],
            "probability": [exact(value) for value in test.posterior["posterior_probability"]],
        }
    )
    return Table(
        "What E makes of odds held beforehand",
        frame,
        note="For statement 2. What the odds were before the games is for the reader to say.",
        numbers=("odds before", "odds after", "probability"),
    )


def _cell(cells: Sequence[PowerCell], assistant: str, share: float) -> PowerCell | None:
    """The cell of a kind of help, at the largest rate of false alarms that is not above 1 %."""
    fit = [
        cell
        for cell in cells
        if cell.assistant == assistant
        and abs(cell.share - share) < 1e-9
        and cell.false_alarms <= NOTICED_FALSE_ALARMS * (1 + 1e-9)
    ]
    return max(fit, key=lambda cell: cell.false_alarms, default=None)


def _power_sentence(test: FullTest) -> str:
    cell = _cell(test.power, _HELPER, _SHARE)
    if cell is None:
        return ""
    return (
        f"On these {len(test.performance):,} turns help with {_SHARES[_SHARE]} from {_HELPER} "
        f"would be noticed in {words.cases_text(cell.power)} (at one false alarm in "
        f"{one_in(cell.false_alarms)})."
    )


def _power_text(test: FullTest) -> str:
    sentence = _power_sentence(test)
    if not sentence:
        return "What help would have been noticed on these turns was not worked out."
    draws = test.power[0].draws
    return (
        f"{sentence} Each kind of help was simulated {draws:,} times. Help that is not noticed "
        "looks like honest play, so a low figure clears nobody."
    )


def _power_table(test: FullTest) -> list[Table]:
    """How often each kind of help would be noticed by E, a column an assistant and rate."""
    if not test.power:
        return []
    cells = test.all_power
    found = {(cell.share, cell.assistant, cell.false_alarms): cell.power for cell in cells}
    shares = sorted({cell.share for cell in cells})
    columns = {"help with": [_SHARES.get(share, f"{share:.0%} of moves") for share in shares]}
    for who, rate in dict.fromkeys((cell.assistant, cell.false_alarms) for cell in cells):
        values = [found.get((share, who, rate)) for share in shares]
        columns[f"{who}, 1 in {one_in(rate)}"] = [
            "–" if value is None else of_100(value) for value in values
        ]
    return [
        Table(
            "Noticed, of 100 cases",
            pl.DataFrame(columns),
            note="Columns: who helps, and how many honest performances would raise a false alarm.",
            numbers=tuple(columns)[1:],
        )
    ]


def _evidence_by_round(test: FullTest) -> Chart | Text:
    known = [text for text in test.sequence["round"] if text]
    title = "Evidence by round" if len(set(known)) == len(test.sequence) else "Evidence by game"
    if test.sequence.is_empty():
        return Text("The games were not followed one by one.", title)
    lost = "" if len(known) == len(test.sequence) else " The rounds are not known."
    return Chart(
        title,
        evidence_chart(test.sequence),
        "Evidence ratio after each game on a log scale",
        f"E after each game, carried forward, and the words for its size.{lost}",
    )


def _power(test: FullTest) -> Chart | Text:
    title = "What would have been noticed on these turns"
    if not test.power:
        return Text("This was not worked out.", title)
    return Chart(
        title,
        power_chart(test.power),
        "How often help would be noticed by share of turns, a panel a rate of false alarms",
        "Help at any turn. The scale of shares is logarithmic.",
    )


def _sensitivity(test: FullTest, names: Labels) -> Table:
    known = test.sensitivity["ln_e"].drop_nulls()
    low, high = known.min(), known.max()
    rows = []
    for row in test.sensitivity.iter_rows(named=True):
        marks = [
            text
            for value, text in ((low, "smallest E"), (high, "largest E"))
            if row["ln_e"] is not None and row["ln_e"] == value and low != high
        ]
        worked = row["ln_e"] is not None
        rows.append(
            {
                "variant": names.scrub(row["variant"]),
                "turns": row["turns"] if worked or row["turns"] else None,
                "index": f"{row['index']:.1f}" if worked else "–",
                "E": words.ratio_text(row["ln_e"]) if worked else "–",
                "worst case": words.ratio_text(row["ln_e_worst"]) if worked else "–",
                "z match": signed(row["match"]),
                "z error": signed(row["error"]),
                "": names.scrub("; ".join([*marks, row["reason"] or ""]).strip("; ")),
            }
        )
    return Table(
        "The same under other choices",
        pl.DataFrame(rows, infer_schema_length=None),
        note="All without the deep look. Every row was fixed before looking, and none of them "
        "replaces the first.",
        numbers=("index", "E", "worst case", "z match", "z error"),
    )


def _alternatives(test: FullTest) -> Table:
    found = {
        (row["schedule"], row["assistant"]): row["ln_ratio"]
        for row in test.alternatives.iter_rows(named=True)
    }
    when = list(dict.fromkeys(schedule for schedule, _ in found))
    who = list(dict.fromkeys(assistant for _, assistant in found))
    columns: dict[str, list[str]] = {"help": when}
    weights = [menu.SCHEDULES.get(name) for name in when]
    columns["weight"] = ["–" if weight is None else f"{weight:.0%}" for weight in weights]
    for name in who:
        ratios = [found.get((schedule, name)) for schedule in when]
        columns[name] = ["–" if ratio is None else words.ratio_text(ratio) for ratio in ratios]
    return Table(
        "The menu of alternatives",
        pl.DataFrame(columns),
        note="The ratio of each alternative without the deep look, averaged over the shares. "
        + _halves(test.performance.evidence)
        + " All weights were published beforehand. The largest is never picked.",
        numbers=tuple(name for name in columns if name != "help"),
    )


def _halves(found: Evidence) -> str:
    """What E is made of."""
    of_menu = f"The mean over the whole menu is {words.ratio_text(found.ln_menu)}"
    if found.ln_counts is None:
        return f"{of_menu}; that is E."
    return (
        f"{of_menu}. The count ratio, which asks only how often the engine's first move was "
        f"played, is {words.ratio_text(found.ln_counts)}. E is the mean of these two."
    )


def _trace(test: FullTest) -> Fold:
    numbers = {game: place for place, game in enumerate(test.sequence["game_id"], start=1)}
    trace = test.trace
    frame = trace.select(
        *(
            [pl.Series("game", [numbers.get(game) for game in trace["game_id"]], dtype=pl.Int64)]
            if "game_id" in trace.columns
            else []
        ),
        *(pl.col(name) for name in ("move_number", "colour", "played") if name in trace.columns),
        "probability",
        "likeliest",
        "expected_error",
        "error",
        pl.col("adds").alias("adds to ln E"),
    )
    return Fold(
        "Every move. Single moves are not evidence",
        (
            Text(
                "Strong players find good moves, and everybody finds some. No single move says who "
                "chose it. Only many together say something, and that is E.",
                "Single moves are not evidence",
            ),
            Table(
                "The moves",
                frame,
                note="Probability: of the move, for an agent of this rating; likeliest: of the "
                "move such an agent makes most often. Errors in scaled pawns.",
                digits={"probability": 3, "likeliest": 3, "expected_error": 3, "error": 3,
                        "adds to ln E": 3},
            ),
        ),
    )  # fmt: skip
