"""The command that fits skill through time to results: history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import options, show

if TYPE_CHECKING:
    from milepost.api.histories import History, Moves

MOVED = {
    f"--{name}": f"--set {name.replace('-', '_')}=VALUE"
    for name in (
        "mu", "sigma", "draw", "first-mover", "newcomers", "margin-mu", "margin-sigma",
        "margin-tau", "draw-form", "stage", "order", "seed", "tolerance", "max-sweeps", "scale",
        "preset",
    )
}  # fmt: skip
"""Former options: what to type now."""


def history(
    inputs: options.Results,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write the curves to this table; - is standard output, as CSV.",
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save",
            metavar="DIR",
            help="Keep the history in this folder, for rank, plot, compare and others.",
        ),
    ] = None,
    model: Annotated[
        str,
        options.choice(
            "--model",
            ("ttt", "ttt-d", "forecast", "trueskill", "elo", "glicko2"),
            help="The model: ttt, ttt-d, forecast, trueskill, elo or glicko2.",
            listed=False,
        ),
    ] = "ttt",
    period: options.Period = "year",
    beta: Annotated[
        float | None,
        typer.Option(
            "--beta", help="How much a performance varies around the skill (standard deviation)."
        ),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option("--tau", help="How much a skill drifts in a year (standard deviation)."),
    ] = None,
    settings: options.Settings = None,
    skip_fast: options.SkipFast = False,
    first: options.FromYear = None,
    last: options.ToYear = None,
    mapping: options.Mapping = None,
    keep_names: options.KeepNames = False,
    aliases: options.Aliases = None,
    keep_duplicates: options.KeepDuplicates = False,
    moves: Annotated[
        str | None,
        typer.Option(
            "--moves",
            metavar="SITES",
            help="Add move evidence: a table from milepost rate --sites, or one with player, "
            "time, mean and sd. --set then also takes era (walk or constant), era_drift, "
            "slope, spread and form.",
        ),
    ] = None,
    form: options.Format = None,
    workers: options.Threads = None,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Estimate every player's skill through time from results.

    Writes curves with -o, or keeps the history with --save for rank, compare, plot and others.

    With --cluster, Parquet results are fitted on a Ray cluster in --workers slices of time, on one
    machine or several (needs milepost[cluster]).

    Chess games get settings of their own. --set preset=plain takes the general ones instead;
    --set preset=chess takes those for chess whatever the games are.

    Where do newcomers begin? --set newcomers=none: all at mu; newcomers=learn: at a level learned
    through time (the default for chess); newcomers=company: by the players they first meet (the
    model forecast). --set scale=elo writes the curves as Elo, fitted to the Elos in the games.

    Exits with code 1 if the history did not converge; the curves are written all the same.
    """
    from milepost.api import histories as api
    from milepost.errors import InputError
    from milepost.io.files import format_of

    if output is None and form is not None:
        output = "-"
    if output is None and save is None:
        raise InputError("nothing to write: give -o OUT for the curves, --save DIR, or both")
    if output is not None:
        format_of(output, form)
    given = {name: options.value_of(text) for name, text in options.read_settings(settings).items()}
    # Where the questions have an option of its own, the curves' scale is one of many settings.
    scale = given.pop("scale", None)
    preset = options.take_preset(given, "auto")
    joining = _joining(moves, given)
    frequent = {"beta": beta, "tau": tau, "workers": workers}
    given |= {name: value for name, value in frequent.items() if value is not None}
    if "newcomers" in given:
        model, given = _with_newcomers(model, given)
    # What cannot be is refused before the results are read.
    api.model_and_sweeping(model, given)
    length = options.read_period(period)
    api.check_period(length)
    if moves is not None and model in ("ttt", "ttt-d"):
        given.setdefault("newcomers", "learn")
    if cluster is not None:
        refused = {
            "--moves": moves, "--map": mapping, "--aliases": aliases, "--skip-fast": skip_fast,
            "--from": first, "--to": last, "--keep-names": keep_names, "--save": save,
            "--keep-duplicates": keep_duplicates,
        }  # fmt: skip
        _refuse_on_cluster(refused)
        given.pop("workers", None)
        fitted, sweeping = api.model_and_sweeping(model, given)
        with show.warnings_told(), show.progress("sweeping", quiet=quiet, unit="sweeps") as tell:
            found = api.fit_on_cluster(
                inputs, fitted, period=length, slices=workers or 4, address=cluster,
                sweeping=sweeping, progress=tell,
            )  # fmt: skip
        _write(found, output, save, form, scale, quiet=quiet, chess=False)
        return
    with show.progress("reading", quiet=quiet):
        chosen = api.choose(
            inputs, mapping=mapping, keep_names=keep_names, aliases=aliases,
            keep_duplicates=keep_duplicates, skip_fast=skip_fast, first=first, last=last,
        )  # fmt: skip
    show.warn_of_lost(chosen.lost, chosen.first_lost)
    chess = preset == "chess" or (preset == "auto" and chosen.chess)
    fitted, sweeping = api.model_and_sweeping(model, given, chess=chess)
    with show.warnings_told(), show.progress("sweeping", quiet=quiet, unit="sweeps") as tell:
        found = api.fit_history(
            chosen, fitted, period=length, sweeping=sweeping, moves=moves,
            joining=joining, progress=tell,
        )  # fmt: skip
    _write(found, output, save, form, scale, quiet=quiet, chess=chess)


def _refuse_on_cluster(options_given: dict[str, Any]) -> None:
    """Refuse what settles results before they are fitted: the slices read them as they are."""
    from milepost.errors import InputError

    wrong = [name for name, value in options_given.items() if value]
    if wrong:
        raise InputError(
            f"{wrong[0]} cannot be used on a cluster: make the table first (milepost results -o "
            "results.parquet), then fit it"
        )


def _write(
    found: History, output: str | None, save: str | None, form: str | None, scale: Any, *,
    quiet: bool, chess: bool,
) -> None:  # fmt: skip
    """Write the curves, keep the history, and say what it is."""
    from milepost.io.files import write_table
    from milepost.report.history.text import history_lines

    if output is not None:
        shown = found if scale is None else found.on(str(scale))
        write_table(shown.curves, output, form=form, made={**found.made, "scale": scale})
    if save is not None:
        found.save(save)
    if not quiet:
        say = history_lines(found, said=found.said, chess=chess)
        if output is not None:
            say.append(f"  curves -> {'standard output' if output == '-' else output}")
        if save is not None:
            say.append(f"  history -> {save}")
        show.say("\n".join(say), err=True)
    if not found.converged:
        raise typer.Exit(1)


def _joining(moves: str | None, given: dict[str, Any]) -> Moves | None:
    """Take the options of move evidence out of what was set; `None` = there is no evidence."""
    from dataclasses import fields

    from milepost.api.histories import Moves
    from milepost.errors import InputError

    own = [option.name for option in fields(Moves) if option.name in given]
    if moves is None:
        if own:
            raise InputError(f"--set {own[0]} goes with move evidence: give --moves SITES")
        return None
    return Moves(**{name: given.pop(name) for name in own})


def _with_newcomers(model: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Take what was said of newcomers: a model of their own, or an option of the model."""
    from milepost.errors import InputError

    known = (None, "learn", "company")
    if given["newcomers"] not in known:
        raise InputError(
            f"newcomers: expected one of none, learn, company; got {given['newcomers']!r}"
        )
    if given["newcomers"] != "company":
        return model, given
    if model not in ("ttt", "ttt-d", "forecast"):
        raise InputError(f"newcomers=company is the model forecast, not {model}")
    return "forecast", {name: value for name, value in given.items() if name != "newcomers"}
