"""The command that fits skill through time to results: history; and what tune shares with it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show
from milepost.cli.commands import results_in

if TYPE_CHECKING:
    from milepost.history import History

Period = Annotated[
    str,
    typer.Option(
        "--period",
        help="year, month, day, event, game, or a length in years (blocks of 365.2425 days from "
        "1970, shown by their first day: 1 is no calendar year).",
    ),
]
Sigma = Annotated[
    float | None,
    typer.Option("--sigma", help="Standard deviation of newcomers' skills.", show_default="400"),
]
Draw = Annotated[
    str | None,
    typer.Option(
        "--draw", help="The draw margin: share (from the share of draws) or points.",
        show_default="share",
    ),
]  # fmt: skip
FirstMover = Annotated[
    str | None,
    typer.Option(
        "--first-mover",
        help="The first mover's advantage: none, learn, learn-by-period, or points.",
        show_default="none",
    ),
]
Newcomers = Annotated[
    str | None,
    typer.Option(
        "--newcomers", help="Newcomers' mean by period: none (always mu) or learn.",
        show_default="none",
    ),
]  # fmt: skip
MarginSigma = Annotated[
    float | None,
    typer.Option("--margin-sigma", help="ttt-d: its standard deviation.", show_default="100"),
]
MarginTau = Annotated[
    float | None,
    typer.Option("--margin-tau", help="ttt-d: what a year adds to it.", show_default="10"),
]
DrawForm = Annotated[
    str | None,
    typer.Option(
        "--draw-form", help="ttt-d: between (exact) or two-factor (the authors').",
        show_default="between",
    ),
]  # fmt: skip
Tolerance = Annotated[
    float | None,
    typer.Option(
        "--tolerance", help="Points that the estimated distance to the fixed point may have.",
        show_default="0.0002 beta",
    ),
]  # fmt: skip
MaxSweeps = Annotated[
    int | None,
    typer.Option("--max-sweeps", min=1, help="Where to give up.", show_default="200"),
]
Threads = Annotated[
    int | None, typer.Option("--workers", "-j", min=1, max=2, help="Threads.", show_default="1")
]

_SKILLS = ("mu", "sigma", "beta", "tau")
_SWEEPS = ("newcomers", "stage", "tolerance", "max_sweeps", "workers")
_MARGINS = ("margin_mu", "margin_sigma", "margin_tau", "draw_form")
_KNOWN_TO = {
    "ttt": (*_SKILLS, "draw", "first_mover", *_SWEEPS),
    "ttt-d": (*_SKILLS, "first_mover", *_SWEEPS, *_MARGINS),
    "trueskill": (*_SKILLS, "draw", "first_mover", "order", "seed"),
    "elo": ("mu", "first_mover"),
    "glicko2": ("mu",),
}
"""Which options each model uses: others are refused, not ignored."""


def history(
    inputs: results_in.Inputs,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="The curves table; - is standard output, as CSV."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="ttt, ttt-d, trueskill, elo or glicko2.")
    ] = "ttt",
    period: Period = "year",
    mu: Annotated[
        float | None,
        typer.Option("--mu", help="Mean of newcomers' skills.", show_default="1200"),
    ] = None,
    sigma: Sigma = None,
    beta: Annotated[
        float | None,
        typer.Option(
            "--beta", help="Standard deviation of a performance around the skill.",
            show_default="480",
        ),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(
            "--tau", help="Standard deviation that a year adds to a skill.", show_default="60"
        ),
    ] = None,
    draw: Draw = None,
    first_mover: FirstMover = None,
    newcomers: Newcomers = None,
    margin_mu: Annotated[
        float | None,
        typer.Option(
            "--margin-mu", help="ttt-d: mean of newcomers' draw margins.", show_default="300"
        ),
    ] = None,
    margin_sigma: MarginSigma = None,
    margin_tau: MarginTau = None,
    draw_form: DrawForm = None,
    stage: Annotated[
        str | None,
        typer.Option(
            "--stage", help="ttt, ttt-d: converged, or filter (one pass, nothing from the future).",
            show_default="converged",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order", help="trueskill: the games of a period as given, or random (with --seed).",
            show_default="given",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="trueskill: of --order random.")
    ] = None,
    tolerance: Tolerance = None,
    max_sweeps: MaxSweeps = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save", metavar="DIR", help="Keep the history, for rank, predict and compare."
        ),
    ] = None,
    skip_fast: results_in.SkipFast = False,
    first: results_in.From = None,
    last: results_in.To = None,
    mapping: results_in.Mapping = None,
    keep_names: results_in.KeepNames = False,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    form: options.Format = None,
    workers: Threads = None,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Fit every player's skill through time to results; write the curves table.

    Exits with 1 if the history did not converge; the curves are written all the same.
    """
    from milepost.errors import InputError
    from milepost.io.files import format_of, write_table

    if output is None and form is not None:
        output = "-"
    if output is None and save is None:
        raise InputError("nothing to write: give -o OUT for the curves, --save DIR, or both")
    if output is not None:
        format_of(output, form)
    settings = settings_of(
        model, period, mu=mu, sigma=sigma, beta=beta, tau=tau, draw=draw, first_mover=first_mover,
        newcomers=newcomers, margin_mu=margin_mu, margin_sigma=margin_sigma, margin_tau=margin_tau,
        draw_form=draw_form, stage=stage, order=order, seed=seed, tolerance=tolerance,
        max_sweeps=max_sweeps, workers=workers,
    )  # fmt: skip
    chosen = results_in.choose_results(
        inputs, mapping=mapping, keep_names=keep_names, aliases=aliases,
        keep_duplicates=keep_duplicates, skip_fast=skip_fast, first=first, last=last, quiet=quiet,
    )  # fmt: skip
    from milepost.history import fit

    with warnings_told(), show.progress("smoothing", quiet=quiet, unit="sweeps") as tell:
        found = fit(chosen.table, progress=tell, **settings)
    told = {name: value for name, value in settings.items() if name != "workers"}
    made = results_in.provenance_of("history", chosen, told, inputs)
    if output is not None:
        write_table(found.curves, output, form=form, made=made)
    if save is not None:
        _save(found, save, made)
    if not quiet:
        _summarise(found, chosen, output, save)
    if not found.converged:
        raise typer.Exit(1)


def settings_of(model: str, period: str, **given: Any) -> dict[str, Any]:
    """The options of `fit` that were given, read and checked against the model."""
    from milepost.errors import InputError

    if model not in _KNOWN_TO:
        raise InputError(f"--model: expected one of {', '.join(_KNOWN_TO)}; got {model!r}")
    asked = {name: value for name, value in given.items() if value not in (None, "none")}
    for name in asked:
        if name not in _KNOWN_TO[model]:
            raise InputError(f"--{name.replace('_', '-')} means nothing to the model {model}")
    for name, words in (("draw", ("share",)), ("first_mover", ("learn", "learn-by-period"))):
        if name in asked and asked[name] not in words:
            asked[name] = _number_or_word(name, asked[name], words)
    named = ("year", "month", "day", "event", "game")
    length = period if period in named else _number_or_word("period", period, named)
    return {"model": model, "period": length, **asked}


def _number_or_word(name: str, text: str, words: tuple[str, ...]) -> float:
    from milepost.errors import InputError

    try:
        return float(text)
    except ValueError:
        known = ", ".join(words)
        option = name.replace("_", "-")
        raise InputError(f"--{option}: expected {known} or a number, got {text!r}") from None


@contextmanager
def warnings_told() -> Iterator[None]:
    """Tell caveats of ours in a line each; others go their way."""
    from milepost.errors import MilepostWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MilepostWarning)
        yield
    for each in caught:
        if issubclass(each.category, MilepostWarning):
            typer.echo(f"warning: {each.message}", err=True)
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _summarise(
    found: History, chosen: results_in.Chosen, output: str | None, save: str | None
) -> None:
    from milepost.history.tuning.tune import draw_share, naive_log_evidence

    settings = found.options
    what = f"{found.games:,} games, {found.players:,} players, {found.nodes:,} nodes"
    say = [f"{settings.model}, period {settings.period}: {what} (a player in a period)"]
    say += [f"  {line}" for line in chosen.said]
    if settings.model in ("ttt", "ttt-d") and settings.stage == "filter":
        say.append("  the filter: one pass forward")
    elif settings.model in ("ttt", "ttt-d"):
        state = "converged" if found.converged else "NOT CONVERGED"
        say.append(
            f"  {found.sweeps} sweeps, {state}; remaining error about "
            f"{found.remaining_error:.2g} points"
        )
        if found.improper:
            say.append(f"  {found.improper:,} updates were left out in the last sweep")
    if settings.order == "random":
        say.append(f"  the games of each period in random order, seed {settings.seed}")
    share = draw_share(chosen.table, period=settings.period)
    naive = f"the draw share of {100 * share:.1f} % alone: {naive_log_evidence(share):.4f}"
    if settings.model not in ("elo", "glicko2"):
        say.append(f"  evidence {found.log_evidence / found.games:.4f} nats a game; {naive}")
    else:
        say.append(f"  the model {settings.model} has no evidence; {naive} nats a game")
    if found.draw_margin == found.draw_margin:
        say.append(f"  draw margin {found.draw_margin:.1f} points")
    lead = found.paths["first_mover"]
    if settings.first_mover is not None:
        ends = f"{lead[0]:.1f}" if lead.n_unique() == 1 else f"{lead[0]:.1f} to {lead[-1]:.1f}"
        say.append(f"  first mover's advantage {ends} points")
    if settings.newcomers is not None:
        level = found.paths["newcomer_mean"]
        say.append(f"  newcomers' mean {level[0]:.1f} to {level[-1]:.1f} points")
    if output is not None:
        say.append(f"  curves -> {'standard output' if output == '-' else output}")
    if save is not None:
        say.append(f"  history -> {save}")
    typer.echo("\n".join(say), err=True)


def _save(found: History, folder: str, made: dict[str, Any]) -> None:
    import json
    from pathlib import Path

    from milepost.io.files import write_text

    found.save(folder)
    text = json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False, default=str)
    write_text(Path(folder) / "provenance.json", text + "\n")
