"""Write the tables and charts of docs/joint.md from the figures of the studies.

    python -m studies.joint_tables

Reads ``studies/figures/joint.json`` (``studies.joint``, ``.joint_prediction``, ``.joint_pools``),
replaces what stands in docs/joint.md between ``<!-- figures: NAME -->`` and ``<!-- end -->``; draws
``docs/images/joint_level.svg`` and ``joint_champions.svg``. Nothing is fitted here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from studies.figure_file import as_table, fill
from studies.joint import FIGURES, PERIODS, REFERENCE

from milepost.io.files import write_text
from milepost.report.charts import save_chart
from milepost.report.history.joint import inflation_chart, joint_curves_chart

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "joint.md"
IMAGES = ROOT / "docs" / "images"
BASE = "2011-2014"
EARLY = "1976-1979"
OTHERS = [name for name in PERIODS if name != BASE]

Figures = dict[str, Any]


def main() -> None:
    """Write the page and its charts."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    write_text(PAGE, page(PAGE.read_text(encoding="utf-8"), figures))
    draw(figures, IMAGES)


def page(text: str, figures: Figures) -> str:
    """Return the page with its blocks written anew."""
    return fill(text, lambda name: _block(name, figures))


def _block(name: str, figures: Figures) -> str:
    needed, write = BLOCKS[name]
    parts = [(figures.get(part) or {}) for part in needed.split()]
    if not all(parts):
        return "*Not computed yet for these turns.*"
    sources = dict.fromkeys(part["source"] for part in parts if "source" in part)
    told = "".join(f"\n\nSource: {source}." for source in sources)
    return write(figures) + told


def _answer(figures: Figures) -> str:
    learned, printed = figures["modern"]["learned"], figures["modern"]["printed"]
    there = learned[EARLY]
    low, high = there["joint"] - 1.96 * there["sd"], there["joint"] + 1.96 * there["sd"]
    apart = there["joint"] - printed[EARLY]
    sure = abs(apart) / there["sd"]
    sense = "deflation" if apart < 0 else "inflation"
    return (
        f"**The answer.** By results and moves the hundred best players of {_span(EARLY)} stood "
        f"{abs(there['joint']):.0f} ± {there['sd']:.0f} Elo "
        f"{'below' if there['joint'] < 0 else 'above'} those of {_span(BASE)} (95 %: "
        f"{_elo(low)} to {_elo(high)}). FIDE's own lists say {_elo(printed[EARLY])}. "
        f"The two differ by {_elo(apart)} ± {there['sd']:.0f}, {sure:.1f} standard errors: "
        + (
            "no drift of FIDE's scale at the top is shown."
            if sure < 2.0
            else f"a sign of {sense} of FIDE's scale at the top."
        )
    )


def _turns(figures: Figures) -> str:
    rows = [
        (
            _span(row["period"]), f"{row['turns']:,}", f"{row['games']:,}", f"{row['players']:,}",
            f"± {_one_turn(row):,.0f} Elo",
        )
        for row in figures["sites"]["turns"] if row["period"]
    ]  # fmt: skip
    table = as_table(("period", "turns", "player-games", "players", "one turn leaves open"), rows)
    shares = []
    for row in figures["sites"]["bands"]:
        if row["period"]:
            bands = {int(name): count or 0 for name, count in row.items() if name.isdigit()}
            high = sum(count for band, count in bands.items() if band >= 2200)
            shares.append(f"{100 * high / sum(bands.values()):.0f} % ({_span(row['period'])})")
    about, learned = figures["about"], figures["modern"]["learned"]
    return (
        f"{table}\n\nShare of turns by players of 2200 or more: {', '.join(shares)}. "
        f"{about['evaluated']:,} judged turns count, positions beyond three pawns left out "
        f"({about['plan']}; set-up `{about['setup']}`); {learned['turns']:,} of them, in "
        f"{learned['used']:,} player-years, belong to players and years that have results: "
        f"{figures['modern']['games']:,} games of 1970–2019. Computed {about['date']}."
    )


def _levels(figures: Figures) -> str:
    modern = figures["modern"]
    learned, fixed = modern["learned"], modern["newcomers fixed"]
    rows = [
        (
            _span(name), _elo(modern["printed"][name]), _elo(learned[name]["results"]),
            _elo(fixed[name]["results"]), f"**{_pair(learned[name])}**", _pair(fixed[name]),
        )
        for name in OTHERS
    ]  # fmt: skip
    heads = ("period", "FIDE's own list", "results alone, newcomers learned",
             "results alone, newcomers fixed", "**joint, learned**", "joint, fixed")  # fmt: skip
    joint = abs(learned[EARLY]["joint"] - fixed[EARLY]["joint"])
    alone = abs(learned[EARLY]["results"] - fixed[EARLY]["results"])
    met = "under" if joint < 40 else "missed:"
    return (
        f"{as_table(heads, rows)}\n\n± is one standard error. The slope is "
        f"{learned['slope']:.3f} ± {learned['slope_se']:.3f} Elo a point. Newcomers "
        f"learned or fixed: {joint:.1f} Elo apart on the joint scale in {_span(EARLY)} ({met} the "
        f"gate of 40), {alone:.0f} by results alone."
    )


def _settings(figures: Figures) -> str:
    variants = {
        "as above": figures["modern"]["learned"],
        "newcomers fixed": figures["modern"]["newcomers fixed"],
        **figures["settings"],
    }
    rows = [
        (name, *(_pair(found[period]) for period in OTHERS), f"{found['slope']:.3f}")
        for name, found in variants.items()
    ]
    return as_table(("assumption", *map(_span, OTHERS), "slope"), rows)


def _needed(figures: Figures) -> str:
    rows = [row for row in figures["sites"]["turns"] if row["period"]]
    open_ = math.sqrt(sum(_one_turn(row) ** 2 for row in rows) / len(rows))
    few = min(row["turns"] for row in rows)
    need = round(2.0 * open_**2 / 20.0**2, -3)
    return (
        f"One turn at plan bullet leaves about ± {open_:,.0f} Elo open. To tell two periods "
        f"apart to "
        f"± 20 Elo (one standard error) takes about {need:,.0f} turns in each, without help from "
        f"the walk. Today's {few:,} turns or more a period leave ± "
        f"{open_ * math.sqrt(2.0 / few):.0f} "
        "by themselves; between periods a few years apart the walk of the era (25 Elo a year) "
        "brings "
        "that down to what the table states."
    )


def _best(figures: Figures) -> str:
    joint, alone = figures["long"]["top joint"], figures["long"]["top results"]
    rows = [
        (
            str(place), f"{one['player']} {one['year']}", f"{one['value']:.0f} ± {one['sd']:.0f}",
            f"{one['beats next']:.2f}", f"{two['player']} {two['year']}",
            f"{two['value']:.0f} ± {two['sd']:.0f}", f"{two['beats next']:.2f}",
        )
        for place, (one, two) in enumerate(zip(joint, alone, strict=True), 1)
    ]  # fmt: skip
    heads = ("", "joint", "Elo", "P", "results alone", "points", "P")
    found = figures["long"]
    title = sum(row["turns"] for row in found["champions"])
    return (
        f"{found['games']:,} games of 1850–2023, {found['turns']:,} turns, "
        f"{title:,} of them of title matches.\n\n"
        f"{as_table(heads, rows)}"
    )


def _compared(figures: Figures) -> str:
    rows = [
        (
            f"{_family(row['first'])} {row['at']} – {_family(row['second'])} {row['at 2']}",
            f"{row['joint']:.3f}", f"{_elo(row['joint difference'])} ± {row['joint sd']:.0f}",
            f"{row['results']:.3f}",
        )
        for row in figures["long"]["compared"]
    ]  # fmt: skip
    return as_table(("was the first stronger?", "joint", "difference, Elo", "results alone"), rows)


def _prediction(figures: Figures) -> str:
    found = figures["prediction"]
    rows = [
        (
            name, f"{part['games']:,}", f"{part['players']:,}",
            f"{part['gain']:+.5f} ± {part['se']:.5f}".replace("-", "−"),
        )
        for name, part in found.items() if name != "source"
    ]  # fmt: skip
    first = found["any turns"]
    sure = first["gain"] / first["se"]
    seen = "They do" if sure > 2.0 else "They do harm" if sure < -2.0 else "No help is seen"
    told = f" (a gain of {sure + 0.0:+.1f} standard errors).".replace("-", "−")
    told = told.replace("−0.0", "0.0")
    return f"{as_table(('turns', 'games', 'players', 'gain, nats a game'), rows)}\n\n{seen}{told}"


def _pools(figures: Figures) -> str:
    pools = figures["pools"]
    rows = []
    for truth in ("newcomers rise", "everybody rises", "beginners improve"):
        part = pools[truth]
        rows.append((
            truth, str(part["pools"]), _elo(part["true"]), _elo(part["results fixed"]),
            _elo(part["results learned"]), f"**{_elo(part['joint'])}**",
            f"{part['sd']:.0f}, {part['rmse']:.0f}", f"{100 * part['covered']:.0f} %",
        ))  # fmt: skip
    heads = ("truth", "pools", "true change", "results, fixed", "results, learned", "**joint**",
             "stated sd, RMSE", "95 % intervals cover")  # fmt: skip
    rises = pools["everybody rises"]
    return (
        f"{as_table(heads, rows)}\n\nFrom decade 1 to decade 4 when everybody rises: stated "
        f"{rises['sd decades']:.0f}, RMSE {rises['decades rmse']:.0f}. **The case that fails:** "
        f"with "
        f"a constant era the same pools give {_elo(rises['constant'])} ± "
        f"{rises['constant sd']:.0f} "
        f"of {_elo(rises['true'])}; its intervals cover {100 * rises['constant covered']:.0f} %."
    )


def _causes(figures: Figures) -> str:
    part, tried = figures["causes"], figures["slope"]
    near, anybody = part["skill by results, near"], part["skill by results, anybody"]
    many = math.sqrt(part["pools"])

    def found(name: str, places: int) -> str:
        mean, sd, pools = (tried[name][each] for each in ("mean", "sd", "pools"))
        return f"{mean:.{places}f} ± {sd / math.sqrt(pools):.{places}f}".replace("-", "−")

    return (
        f"- **The slope** is learned about {100 * (tried['slope']['mean'] - 1):.0f} % over the "
        f"true one ({found('slope', 3)} of 1, {tried['slope']['pools']} pools of 20 years). There, "
        "opponents are chosen by strength, as in tournaments, and who meets whom says "
        "something that a history of results does not use: true skills lie further apart than "
        f"results say, by a factor of {near['mean']:.3f} ± {near['sd'] / many:.3f} "
        f"({anybody['mean']:.3f} ± {anybody['sd'] / many:.3f} where anybody meets anybody). The "
        "slope takes that up. **No effect on answers is seen.** In the same pools true skill rises "
        "by "
        f"{found('skill by intrinsic', 3)} for one of intrinsic Elo, the twenty best of a year are "
        f"off by {found('top off', 1)} Elo, and from the first to the twentieth it is "
        f"{tried['first to last said']['mean']:.0f} Elo where "
        f"{tried['first to last true']['mean']:.0f} are true. Only the slope itself is not one of "
        "nature: it belongs to its table of results, so do not carry it to another.\n"
        "- **Errors** are stated a quarter too wide on average. The lasting offset of a player is "
        "made to count once by widening all of the player's sites (see above). That is exact "
        "for the "
        "player, but for the level of one period a site of a player with k sites then counts "
        "with k "
        "times the offset's variance instead of once: in these pools (offset 182, sites of ± 320, "
        "two or three a player) about 17 % too wide by this sum. With the calibration's offset "
        "of 36 "
        "Elo, as on the real games above, it is nothing. Where the level wanders by 25 Elo a year, "
        f"as the walk expects, {part['pools']} pools have an RMSE of {part['wanders rmse']:.0f} "
        f"beside {part['wanders sd']:.0f} stated: too few to tell more.\n"
        "- **Beginners improve**: the walk pulls the answer a little towards what results alone "
        "say. "
        f"With a walk of 75 Elo a year instead of 25 the same pools give {_elo(part['looser'])} ± "
        f"{part['looser se']:.1f} more."
    )


def _time(figures: Figures) -> str:
    found = figures["time"]
    return (
        f"Processor time of the whole joint fit of {found['games']:,} games, errors of all levels "
        f"included: **{found['ratio']:.2f} times** that of results alone (gate 2); one thread, "
        f"both "
        "in one run on a loaded machine, reading the games left out. "
        f"{found['sweeps']} sweeps for the results, then {found['sweeps of joining']}."
    )


BLOCKS: dict[str, tuple[str, Callable[[Figures], str]]] = {
    "answer": ("modern", _answer), "turns": ("about sites modern", _turns),
    "levels": ("modern", _levels), "settings": ("modern settings", _settings),
    "needed": ("sites", _needed), "best": ("long", _best), "compared": ("long", _compared),
    "prediction": ("prediction", _prediction), "pools": ("pools", _pools),
    "causes": ("causes slope", _causes), "time": ("time", _time),
}  # fmt: skip
"""For each block of the page the parts of the figures that it needs, and what writes it."""


def draw(figures: Figures, folder: Path) -> None:
    """Draw the level of the top 100, and the champions."""
    folder.mkdir(parents=True, exist_ok=True)
    if "modern" in figures:
        _draw_level(figures["modern"], folder)
    if "curves" in figures.get("long", {}):
        _draw_champions(figures["long"], folder)


def _draw_level(modern: Figures, folder: Path) -> None:
    table = pl.DataFrame(modern["learned"]["years"]).with_columns(group=pl.lit("top:100"))
    printed = pl.DataFrame(modern["printed"]["years"]).filter(
        pl.col("year").is_between(1971, 2019) & (pl.col("players") == 100)
    )
    beside = printed.select(
        time="year", change=pl.col("level") - modern["printed"]["reference"],
        name=pl.lit("FIDE's rating lists"),
    )  # fmt: skip
    many = f"{modern['games'] / 1e6:.1f} million games, {modern['learned']['turns']:,} moves judged"
    said = [
        f"Average of the hundred best players, beside {REFERENCE[0]}–{REFERENCE[1]}. {many}.",
        "Taken for granted: moves of one quality stand for one Elo in every decade.",
    ]
    chart = inflation_chart(
        table, title="How strong was the world's top 100?", subtitle=said, beside=beside
    )
    save_chart(chart, folder / "joint_level.svg")


def _draw_champions(long: Figures, folder: Path) -> None:
    rows = [(name, *row) for name, curve in long["curves"].items() for row in curve]
    points = pl.DataFrame(
        rows, schema=["player", "time", "mean", "sd", "piece"], orient="row"
    ).with_columns(
        results=pl.lit(None, dtype=pl.Float64), site=pl.lit(None, dtype=pl.Float64),
        site_sd=pl.lit(None, dtype=pl.Float64), turns=pl.lit(None, dtype=pl.Int64),
    )  # fmt: skip
    many = f"{long['games'] / 1e6:.1f} million games of 1850–2023, {long['turns']:,} moves judged"
    chart = joint_curves_chart(
        points, title="World champions on one scale", subtitle=[f"{many}."], height=420, width=720,
        beside=False,
    )  # fmt: skip
    save_chart(chart, folder / "joint_champions.svg")


def _one_turn(row: dict[str, Any]) -> float:
    return math.sqrt(row["turns"] / row["information"])


def _span(name: str) -> str:
    return name.replace("-", "–")


def _elo(value: float) -> str:
    return f"{value:+.0f}".replace("-", "−")


def _pair(part: dict[str, float]) -> str:
    return f"{_elo(part['joint'])} ± {part['sd']:.0f}"


def _family(name: str) -> str:
    return name.split(",", maxsplit=1)[0]


if __name__ == "__main__":
    main()
