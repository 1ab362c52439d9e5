"""The ledger shown: as text for a terminal of 80 columns, and as a page with charts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from milepost import __version__
from milepost.io.files import write_table
from milepost.papers.charts import named_points
from milepost.papers.experiment import HOLDS, Experiment, Finding
from milepost.papers.ledger.answers import ledger
from milepost.papers.ledger.claim import Claim
from milepost.papers.ledger.rules import Above, Outside, Within, holm
from milepost.papers.run import counts_of, findings_of, read_result, said_counts
from milepost.report.pages import Chart, Page, Table, Text, write_page

UNTESTED = "not tested"
NOT_RUN = "not run"
_COLUMNS = 80
_SURE = 0.05


def found_in(out: Path, known: Iterable[Experiment]) -> dict[str, Finding]:
    """Return the findings that a folder of results holds, by claim."""
    found: dict[str, Finding] = {}
    for experiment in known:
        result = read_result(out / experiment.name)
        if result is not None:
            found |= {each.key: each for each in findings_of(result) if each.key}
    return found


def ledger_text(known: Mapping[str, Experiment], out: Path) -> str:
    """Return experiments and claims as text, with the results in a folder if there are any."""
    found = found_in(out, known.values())
    lines = ["Experiments"]
    lines += [line for each in known.values() for line in _wrapped(f"{each.name}: {each.title}", 2)]
    for paper in dict.fromkeys(claim.paper for claim in ledger().values()):
        lines += ["", f"Claims: {paper}"]
        for claim in ledger().values():
            if claim.paper == paper:
                lines += _claim_lines(claim, found.get(claim.key))
    return "\n".join(lines)


def _claim_lines(claim: Claim, finding: Finding | None) -> list[str]:
    lines = _wrapped(f"{claim.key} [{verdict_of(claim, finding)}]", 2)
    lines += _wrapped(f'"{claim.words}" ({claim.section})', 4)
    if not claim.experiment:
        return lines + _wrapped(f"why not: {claim.rule}", 4)
    lines += _wrapped(f"number: {claim.reading}", 4) + _wrapped(f"rule: {claim.rule}", 4)
    if finding is not None:
        lines += _wrapped(f"found: {_numbers(finding)}{finding.found}", 4)
    return lines


def _numbers(finding: Finding) -> str:
    told = f"{finding.n:,} {finding.unit}; " if finding.n else ""
    if finding.power is not None:
        told += f"power {finding.power:.2f}; "
    return told


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, _COLUMNS, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)
    )


def verdict_of(claim: Claim, finding: Finding | None) -> str:
    """Return what became of a claim, in a word or two."""
    if not claim.experiment:
        return UNTESTED
    return NOT_RUN if finding is None else finding.verdict


def ledger_table(found: Mapping[str, Finding]) -> pl.DataFrame:
    """Return the ledger: one row a claim, with its result where there is one."""
    rows = []
    for claim in ledger().values():
        finding = found.get(claim.key)
        rows.append(
            {
                "claim": claim.key,
                "where": claim.section,
                "the paper's words": claim.words,
                "the number that decides": claim.reading,
                "rule": str(claim.rule),
                "verdict": verdict_of(claim, finding),
                "effect": None if finding is None else finding.effect,
                "low": None if finding is None else finding.low,
                "high": None if finding is None else finding.high,
                "power": None if finding is None else finding.power,
                "n": None if finding is None else finding.n,
                "of": "" if finding is None else (finding.unit or ""),
                "experiment": claim.experiment,
            }
        )
    numbers = dict.fromkeys(("effect", "low", "high", "power"), pl.Float64) | {"n": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None)


def shown_table(part: pl.DataFrame) -> pl.DataFrame:
    """Return rows of the ledger as a page shows them: fewer columns, numbers with their units."""

    def number(name: str) -> pl.Expr:
        return pl.col(name).round_sig_figs(3).cast(pl.String)

    spread = pl.concat_str(
        number("effect"), pl.lit(" ["), number("low"), pl.lit(", "), number("high"), pl.lit("]")
    )
    return part.select(
        "claim",
        pl.concat_str(pl.lit("“"), "the paper's words", pl.lit("” ("), "where", pl.lit(")")).alias(
            "the paper says"
        ),
        "the number that decides",
        "rule",
        spread.fill_null("").alias("found, 95 %"),
        pl.concat_str(pl.col("n").cast(pl.String), pl.lit(" "), "of").fill_null("").alias("from"),
        "power",
        "verdict",
    )


def rule_scale(found: Mapping[str, Finding], kind: type[Above] | type[Within]) -> pl.DataFrame:
    """Return effects on the scale of their rules, for a chart.

    A rule that asks for more than a limit: 0 is the limit, 1 the size that would matter. One that
    asks for a band: -1 and 1 are its ends. Errors are a quarter of the interval.
    """
    rows = []
    for claim in ledger().values():
        finding, rule = found.get(claim.key), claim.rule
        if finding is None or finding.effect is None or finding.low is None:
            continue
        if isinstance(rule, Above) and kind is Above and rule.size > rule.limit:
            zero, unit = rule.limit, rule.size - rule.limit
        elif isinstance(rule, Within) and kind is Within and abs(rule.low) < float("inf"):
            zero, unit = 0.5 * (rule.low + rule.high), 0.5 * (rule.high - rule.low)
        elif isinstance(rule, Outside) and kind is Within:
            zero, unit = 0.0, rule.limit
        else:
            continue
        error = (finding.effect - finding.low) / 1.96 / unit
        rows.append((claim.key, (finding.effect - zero) / unit, error))
    return pl.DataFrame(
        rows, orient="row",
        schema={"claim": pl.String, "On the scale of its rule": pl.Float64, "se": pl.Float64},
    )  # fmt: skip


def holm_text(found: Mapping[str, Finding]) -> str:
    """Say how many claims that hold do so after the number of tests is reckoned with."""
    tested = [each for each in found.values() if each.p is not None]
    adjusted = holm([float(each.p or 0.0) for each in tested])
    held = [p for each, p in zip(tested, adjusted, strict=True) if each.verdict == HOLDS]
    firm = sum(p < _SURE for p in held)
    return (
        f"{len(tested)} rules are intervals with a p-value. Of the {len(held)} claims among them "
        f"that hold, {firm} still do at 5 % when the p-values are adjusted for the number of "
        "tests by Holm's method."
    )


def write_ledger(known: Iterable[Experiment], out: Path) -> Path:
    """Write the page of the ledger; return where it is."""
    found = found_in(out, known)
    table = ledger_table(found)
    counts = table.group_by("verdict", maintain_order=True).len()
    lead = said_counts(dict(counts.sort("len", descending=True).iter_rows()))
    sections: list[Text | Table | Chart] = [
        Text(_ABOUT),
        Text(holm_text(found), "Many claims at once"),
    ]
    for title, kind, rule in (
        ("Claims that something is larger: 0 is the limit, 1 what would matter", Above, 0.0),
        ("Claims that something is near: -1 and 1 are the limits", Within, 0.0),
    ):
        shown = rule_scale(found, kind)
        if len(shown):
            name = "On the scale of its rule"
            clipped = shown.with_columns(pl.col(name).clip(-4, 4))
            chart = named_points(clipped, "claim", name, "se", rule=rule)
            sections.append(Chart(f"{title} (points beyond 4 stand at 4)", chart))
    power = [(key, each.power, 0.0) for key, each in found.items() if each.power is not None]
    if power:
        frame = pl.DataFrame(power, schema=["claim", "Power", "se"], orient="row")
        sections.append(Chart("Power of each rule", named_points(frame, "claim", "Power", "se")))
    for (paper,), part in table.with_columns(
        pl.col("claim").str.split("-").list.first().alias("paper")
    ).group_by("paper", maintain_order=True):
        sections.append(Table(f"Claims: {paper}", shown_table(part), most=200, digits={"power": 2}))
    write_table(table, out / "ledger.csv")
    made: dict[str, Any] = {"made_by": f"milepost {__version__}", "command": "reproduce"}
    page = Page("The ledger of claims", tuple(sections), made, lead=f"Claims: {lead}.")
    write_page(page, out / "ledger.html")
    return out / "ledger.html"


_ABOUT = (
    "Every sentence of the papers that can be right or wrong, the number that decides, and the "
    "rule. A claim holds if the whole "
    "95 % interval lies where its rule says, it does not hold if the whole interval lies where it "
    "says it does not; else there is too little data. Errors of turns are clustered by game. The "
    "power is how likely the rule finds that a claim holds which is true in the size it names.\n\n"
    "The claims of 2007 are judged on a table of results that had been looked at before: their "
    "verdicts are exploratory, and most of their rules are words. The rules of 2009 and 2011 were "
    "fixed on other turns than those that they are meant for; how many turns were left out as seen "
    "stands in each result."
)


def lead_of(findings: Iterable[Finding]) -> str:
    """Return the counts of verdicts as a sentence."""
    return ", ".join(f"{number} {verdict}" for verdict, number in counts_of(findings).items())
