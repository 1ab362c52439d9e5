"""Write the tables and the chart of docs/play.md from the figures of the studies.

    python -m studies.bot_tables

Reads ``studies/figures/bot.json`` (``studies.bot_games``, ``.bot_endings``, ``.bot_likeness``) and
the playing maps, replaces what stands in docs/play.md between ``<!-- figures: NAME -->`` and
``<!-- end -->``, and draws ``docs/play_slips.svg``. Nothing is measured here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from studies.figure_file import BOT, as_table, fill

from milepost.intrinsic.choosing.playing import NEAR, playing_maps
from milepost.io.files import write_text
from milepost.report.charts import save_chart

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "play.md"
CHART = DOCS / "play_slips.svg"
MAPPED = ("bullet", "blitz")
NEARLY = 0.15
"""Slips within this share of people's, or within two standard errors, count as people's."""

Figures = dict[str, Any]


def main() -> None:
    """Write the page and its chart."""
    figures = BOT.all()
    write_text(PAGE, page(PAGE.read_text(encoding="utf-8"), figures))
    save_chart(slips_chart(figures["likeness quick"]["slips"]), CHART)


def page(text: str, figures: Figures) -> str:
    """Return the page with its blocks written anew."""
    return fill(text, lambda name: _block(name, figures))


def _block(name: str, figures: Figures) -> str:
    needed, write = BLOCKS[name]
    if any(part not in figures for part in needed):
        return "*Not measured yet with these playing maps.*"
    return write(figures)


def _rules(figures: Figures) -> str:
    found, blitz = figures["rules"], figures.get("rules blitz")
    heads: tuple[str, ...] = ("target", "plan", "rated", "95 % interval", "turns")
    rows = [_rated(row) for row in found["rows"]]
    told = (
        f"The target is inside the interval: {_inside(found)}. Slope of the rating on the target "
        f"{_slope(found)}, mean error {_elo(found['mean_error'])}. "
    )
    if blitz is not None:
        heads = (*heads, "by blitz throughout")
        others = ["" if row["plan"] == "blitz" else _with_ends(other)
                  for row, other in zip(found["rows"], blitz["rows"], strict=True)]  # fmt: skip
        rows = [(*row, other) for row, other in zip(rows, others, strict=True)]
        told += (
            f"By blitz throughout: {_inside(blitz)}, {_slope(blitz)}, {_elo(blitz['mean_error'])}. "
        )
    shared = "The targets share their positions, so their errors are not independent."
    return f"{as_table(heads, rows)}\n\n{told}{shared}"


def _judge(figures: Figures) -> str:
    found = figures["judge"]
    rows = [(*_rated(row), str(row["games"])) for row in found["rows"]]
    heads = ("target", "plan", "rated", "95 % interval", "turns", "games")
    wide = [(row["high"] - row["low"]) / 2 for row in found["rows"]]
    return (
        f"{as_table(heads, rows)}\n\nThe target is inside the interval: {_inside(found)}. Slope "
        f"of the rating on the target {_slope(found)}, mean error {_elo(found['mean_error'])}. "
        f"Half an interval is {min(wide):.0f} to {max(wide):.0f} Elo."
    )


def _rated(row: Figures) -> tuple[str, ...]:
    ends = f"{row['low']:.0f}–{row['high']:.0f}"
    return (f"{row['target']:.0f}", row["plan"], f"{row['rating']:.0f}", ends, f"{row['n']:,}")


def _with_ends(row: Figures) -> str:
    return f"{row['rating']:.0f} ({row['low']:.0f}–{row['high']:.0f})"


def _inside(found: Figures) -> str:
    return f"{found['inside']} of {len(found['rows'])}"


def _slope(found: Figures) -> str:
    return f"{found['slope']:.2f} ± {found['slope_se']:.2f}"


def _other_games(_: Figures) -> str:
    """What the judge says of the maps on other games, and of the same agents unsharpened."""
    told = {plan: each.made["other_games"] for plan, each in _maps().items()}
    elos = [row["elo"] for row in told["blitz"] if row["elo"] % 200 == 0]
    rows = []
    for elo in elos:
        cells = []
        for plan in MAPPED:
            found = next((row for row in told[plan] if row["elo"] == elo), None)
            cells += ["", ""] if found is None else _both(found)
        rows.append((f"{elo:.0f}", *cells))
    heads = ("Elo", *itertools.chain(*((plan, f"{plan} without its map") for plan in MAPPED)))
    return as_table(heads, rows)


def _both(row: Figures) -> list[str]:
    return [f"{row['rated']:.0f}", f"{row['rated_unsharpened']:.0f}"]


def _maps() -> dict[str, Any]:
    known = {each.made["plan"]: each for each in playing_maps().values()}
    return {plan: known[plan] for plan in MAPPED}


def _map_slips(_: Figures) -> str:
    """Slips of the rules by the judge's values, in people's."""
    rows = []
    for plan, playing in _maps().items():
        for row in playing.made["slips_against_people"][NEAR]:
            if row["elo"] in (1600, 2000, 2400, 2600):
                slips = (f"{each:.2f}" for each in row["slips"])
                rows.append((f"{plan} {row['elo']:.0f}", *slips))
    return as_table(("", "0.5 pawns", "1", "2", "3"), rows)


def _ladder(figures: Figures) -> str:
    found = figures["ladder"]
    rows = [
        (
            str(row["elo"]), str(row["games"]), f"{row['score']:.2f} ± {row['se']:.2f}",
            f"{row['expected']:.2f}",
        )
        for row in found["rows"]
    ]  # fmt: skip
    gaps: dict[int, list[Figures]] = {}
    for pair in found["pairs"]:
        gaps.setdefault(pair["high"] - pair["low"], []).append(pair)
    apart = [
        (
            str(gap), str(sum(pair["games"] for pair in pairs)),
            _points(sum(pair["score"] for pair in pairs)),
            _expected(pairs),
        )
        for gap, pairs in sorted(gaps.items())
    ]  # fmt: skip
    scores = [row["score"] for row in found["rows"]]
    order = all(low < high for low, high in itertools.pairwise(scores))
    close = sum(
        abs(pair["score"] - pair["expected"]) <= 3 * pair["expected_se"] for pair in found["pairs"]
    )
    won = sum(pair["score"] for pair in found["pairs"])
    return (
        f"{found['games']} games, {found['plies']:,} half-moves. The factor fitted to the Elo "
        f"formula is **{found['scale']:.2f} ± {found['scale_se']:.2f}**: a difference of 100 Elo "
        f"shows in the scores like one of {100 * found['scale']:.0f}. The stronger bot scored "
        f"{_points(won)} of {found['games']}. The order of the total scores is "
        f"{'that of the Elos' if order else 'not quite that of the Elos'}; {close} of "
        f"{len(found['pairs'])} pairs are within three standard errors of what is expected after "
        f"the factor.\n\n{as_table(('Elo', 'games', 'score', 'expected after the factor'), rows)}"
        "\n\n"
        f"{as_table(('Elo apart', 'games', 'points of the stronger', 'expected'), apart)}"
    )


def _expected(pairs: list[Figures]) -> str:
    error = sum(pair["expected_se"] ** 2 for pair in pairs) ** 0.5
    return f"{sum(pair['expected'] for pair in pairs):.1f} ± {error:.1f}"


def _points(value: float) -> str:
    """Points with a half."""
    whole = f"{int(value)}" if value >= 1 or value == 0 else ""
    return whole + ("½" if value % 1 else "")


def _bands(figures: Figures) -> str:
    found = figures["likeness quick"]
    rows = [
        (
            _span(row["band"]), f"{row['turns']:,}", _share(row["best"]), _share(row["likeliest"]),
            f"{100 * row['gain']:+.1f} ± {100 * row['gain_se']:.1f}", _share(row["sampled"]),
            f"{row['log_loss']:.3f}", _share(row["played"]),
            f"{_share(row['loss'])}, {_share(row['loss_bot'])}, {_share(row['loss_played'])}",
            f"{row['skill_level']:.0f}, {_share(row['skill_loss'])}, {_share(row['skill_match'])}",
        )
        for row in found["bands"]
    ]  # fmt: skip
    heads = (
        "Elo", "turns", "best", "likeliest", "gain, points", "sampled", "log-loss", "bot",
        "loss: people, agent, bot", "Skill: level, loss, match",
    )  # fmt: skip
    met = sum(row["gain"] >= 0.035 for row in found["bands"])
    total = sum(row["turns"] for row in found["bands"])
    mean = sum(row["turns"] * row["log_loss"] for row in found["bands"]) / total
    return (
        f"{as_table(heads, rows)}\n\nThe aim of +3.5 points is met in {met} of "
        f"{len(found['bands'])} bands. Mean log-loss {mean:.3f} (aim 1.50)."
    )


def _slips(figures: Figures) -> str:
    found = figures["likeness quick"]
    rows = []
    for band, part in itertools.groupby(found["slips"], key=lambda row: row["band"]):
        cells = [
            f"{_percent(row['people'])} ± {_percent(row['people_se'])}, {_percent(row['bot'])}, "
            f"{_percent(row['played'])}"
            for row in part
        ]
        rows.append((_span(band), *cells))
    chi2, freedom, p = found["chi2"]
    agents = sum(_alike(row, "bot") for row in found["slips"])
    bots = sum(_alike(row, "played") for row in found["slips"])
    skill = sum(_alike(row, "skill") for row in found["slips"])
    return (
        f"{as_table(('Elo', '0.5', '1', '2', '3'), rows)}\n\nWithin 15 % or two standard errors "
        f"of people: the agents {agents} of {len(found['slips'])}, the bots as they play {bots}, "
        f"Skill Level at the nearest loss {skill}. Slips of a pawn by tenths of the agent's "
        f"entropy: χ² = {chi2:.1f} with {freedom} degrees of freedom, p = {_p(p)}."
    )


def _alike(row: Figures, who: str) -> bool:
    """Whether slips are people's; where people made none, by the error that the other says."""
    apart = abs(row[who] - row["people"])
    error = row["people_se"] or (row[who] * (1 - row[who]) / row["turns"]) ** 0.5
    return bool(apart <= NEARLY * row["people"] or apart <= 2 * error)


def _bullet(figures: Figures) -> str:
    found = figures["likeness bullet"]
    rows = [
        (
            _span(row["band"]), f"{row['turns']:,}", _share(row["best"]), _share(row["likeliest"]),
            f"{100 * row['gain']:+.1f} ± {100 * row['gain_se']:.1f}", f"{row['log_loss']:.3f}",
            f"{row['skill_level']:.0f}, {_share(row['skill_loss'])}, {_share(row['skill_match'])}",
        )
        for row in found["bands"]
    ]  # fmt: skip
    chi2, freedom, p = found["chi2"]
    agents = sum(_alike(row, "bot") for row in found["slips"])
    heads = (
        "Elo", "turns", "best", "likeliest", "gain, points", "log-loss",
        "Skill: level, loss, match",
    )  # fmt: skip
    return (
        f"{as_table(heads, rows)}\n\nOf the slips of its agents {agents} of "
        f"{len(found['slips'])} are within 15 % or two standard errors of people's; χ² by entropy "
        f"{chi2:.1f} with {freedom} degrees of freedom, p = {_p(p)}."
    )


def _won(figures: Figures) -> str:
    rows = [
        (
            f"{row['from']:.0f} to {row['to']:.0f}", str(row["elo"]),
            f"{_share(row['people'])} ± {_share(row['people_se'])} ({row['people_n']})",
            f"{_share(row['bot'])} ± {_share(row['bot_se'])} ({row['bot_n']})",
            f"{row['apart']:+.2f} ± {row['apart_se']:.2f}".replace("-", "−"),
        )
        for row in figures["won"]["rows"]
    ]  # fmt: skip
    heads = ("pawns ahead", "Elo", "people (n)", "bots (n)", "bots less people, same positions")
    told = figures["won"]["rows"]
    near = sum(
        abs(row["bot"] - row["people"]) <= 2 * (row["bot_se"] ** 2 + row["people_se"] ** 2) ** 0.5
        for row in told
    )
    answer = (
        f"{as_table(heads, rows)}\n\nWithin two standard errors of people: {near} of {len(told)}."
    )
    for row in figures["won"].get("pooled", ()):
        apart, rise = (
            f"{row[name]:+.2f} ± {row[f'{name}_se']:.2f}".replace("-", "−")
            for name in ("apart", "rise")
        )
        answer += (
            f" From {row['from']:.0f} to {row['to']:.0f} pawns ahead the bots scored "
            f"{row['score']:g} of {row['games']} where people had {row['people']:g}, so {apart} a "
            f"game; their score rises by {rise} for 1,000 Elo."
        )
    return answer


def _rise(figures: Figures) -> str:
    """The same positions at every Elo, against one defender."""
    found = figures["rise"]
    elos = sorted({row["elo"] for row in found["rows"]})
    scores = {(row["from"], row["elo"]): row for row in found["rows"]}
    rows = []
    for part in found["pooled"]:
        cells = (scores[part["from"], elo] for elo in elos)
        rows.append(
            (
                f"{part['from']:.0f} to {part['to']:.0f}", str(part["positions"]),
                *(f"{_share(cell['score'])} ± {_share(cell['se'])}" for cell in cells),
                f"{part['rise']:+.2f} ± {part['rise_se']:.2f}".replace("-", "−"),
            )
        )  # fmt: skip
    heads = ("pawns ahead", "positions", *map(str, elos), "rise for 1,000 Elo")
    return as_table(heads, rows)


def _as_played(figures: Figures) -> str:
    """Slips of people and of the bots as they play, on turns that made no map."""
    found = figures["slips as played"]
    rows: dict[str, list[str]] = {}
    for row in found["rows"]:
        before = f", {_percent(row['before'])}" if "before" in row else ""
        rows.setdefault(f"{_span(row['band'])} ({row['turns']:,})", []).append(
            f"{_percent(row['people'])} ± {_percent(row['people_se'])}, "
            f"{_percent(row['played'])}{before}"
        )
    many = len(found["rows"])
    told = f"{sum(_alike(row, 'played') for row in found['rows'])} of {many}"
    earlier = [row for row in found["rows"] if "before" in row]
    if earlier:
        told += f", with the maps of before {sum(_alike(row, 'before') for row in earlier)}"
    table = as_table(
        ("Elo (turns)", "0.5", "1", "2", "3"), [(name, *cells) for name, cells in rows.items()]
    )
    return f"{table}\n\nWithin 15 % or two standard errors of people: {told}."


def _pawns(figures: Figures) -> str:
    told = [f"{row['elo']}: {row['won']} of {row['games']}" for row in figures["pawns"]["rows"]]
    return f"King and pawn against king, won positions that were won: {'; '.join(told)}."


def _mates(figures: Figures) -> str:
    found = {(row["piece"], row["elo"]): row for row in figures["mates"]["rows"]}
    elos = sorted({elo for _, elo in found})
    rows = []
    for piece in ("rook", "queen"):
        cells = [
            f"{row['mated']} of {row['games']} ({row['mean_moves']:.0f}, {row['most_moves']})"
            for row in (found[piece, elo] for elo in elos)
        ]
        rows.append((piece, *cells))
    return as_table(("mated (moves: mean, most)", *map(str, elos)), rows)


def _variety(figures: Figures) -> str:
    told = [
        f"{row['elo']} by {row['plan']}: {row['different']} different positions at half-move "
        f"{row['plies']} in {row['games']} games, and {row['same_again']} of {row['games']} games "
        "are the same with the same seed"
        for row in figures["variety"]["rows"]
    ]
    return "; ".join(told) + "."


def _clients(figures: Figures) -> str:
    told = []
    for name, plan in (("clients bullet", "the plan bullet"), ("clients", "the usual plan")):
        found = figures.get(name)
        if found is None:
            continue
        told.append(
            f"{found['games']} games at 10+0.1 through python-chess with {plan}, "
            f"{found['plies']:,} half-moves: {found['time_loss']} time losses, "
            f"{found['illegal']} illegal moves, no stall. The longest move took "
            f"{found['longest']:.2f} s; no clock fell below {found['lowest_clock']:.1f} s. Moves "
            f"by quick {found['quick']:,}, by blitz {found['blitz']:,}, by bullet "
            f"{found['bullet']:,}, by the book or in greater haste {found['other']:,}."
        )
    return "\n\n".join(told)


def _p(value: float) -> str:
    """A p-value; small ones with the digit that counts."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def _span(name: str) -> str:
    return name.replace("-", "–")


def _elo(value: float) -> str:
    return f"{value:+.0f}".replace("-", "−")


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.2f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


BLOCKS: dict[str, tuple[tuple[str, ...], Callable[[Figures], str]]] = {
    "rules": (("rules",), _rules),
    "other games": ((), _other_games),
    "map slips": ((), _map_slips),
    "judge": (("judge",), _judge),
    "ladder": (("ladder",), _ladder),
    "bands": (("likeness quick",), _bands),
    "slips": (("likeness quick",), _slips),
    "bullet": (("likeness bullet",), _bullet),
    "won": (("won",), _won),
    "rise": (("rise",), _rise),
    "slips as played": (("slips as played",), _as_played),
    "pawns": (("pawns",), _pawns),
    "mates": (("mates",), _mates),
    "variety": (("variety",), _variety),
    "clients": (("clients bullet",), _clients),
}
"""The blocks of the page, and the figures that each needs."""


def slips_chart(rows: list[Figures]) -> alt.FacetChart:
    """Draw how often people, the agents, the bots and Stockfish's Skill Level slip, by Elo."""
    slips = pl.DataFrame(rows)
    names = {
        pawns: f"{pawns:g} pawn{'s' if pawns != 1 else ''} or more" for pawns in slips["pawns"]
    }
    limit = pl.col("pawns").replace_strict(names, return_dtype=pl.String).alias("limit")
    kinds = {
        "people": ("people", "#1b6ca8"),
        "bot": ("agents (guesses)", "#e0a030"),
        "played": ("bots", "#d1495b"),
        "skill": ("Skill Level", "#9a9a9a"),
    }
    lines = pl.concat(
        slips.select(
            pl.col("band").str.replace("-", "–"),
            limit,
            (100 * pl.col(name)).alias("share"),
            (100 * (pl.col(name) - 2 * pl.col("people_se"))).clip(0).alias("low"),
            (100 * (pl.col(name) + 2 * pl.col("people_se"))).alias("high"),
            pl.lit(who).alias("who"),
        )
        for name, (who, _) in kinds.items()
    )
    scale = alt.Scale(
        domain=[who for who, _ in kinds.values()], range=[colour for _, colour in kinds.values()]
    )
    legend = alt.Legend(title=None, orient="bottom")
    x = alt.X("band:N", title="Elo", axis=alt.Axis(labelAngle=-40))
    y = alt.Y("share:Q", title="% of turns")
    base = alt.Chart(lines).encode(x=x, color=alt.Color("who:N", scale=scale, legend=legend))
    bars = base.mark_rule().encode(y=alt.Y("low:Q", title="% of turns"), y2="high:Q")
    bars = bars.transform_filter("datum.who == 'people'")
    both = (bars + base.mark_line(point=True).encode(y=y)).properties(width=210, height=180)
    facets = both.facet(alt.Facet("limit:N", title=None), columns=2)
    chart: alt.FacetChart = facets.resolve_scale(y="independent")
    return chart


if __name__ == "__main__":
    main()
