"""Agents: fits to decisions of any field, comparison of models, live decisions, rows of results."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from milepost.api.decisions import Decisions
from milepost.api.decisions import decisions as read_decisions
from milepost.choice.spreads import BOUND, Spreads
from milepost.errors import InputError
from milepost.fit import groups as stage
from milepost.fit.agent import PERCENTILE, check_method, default_method
from milepost.fit.agent import fit_agent as fit_spreads
from milepost.fit.agent_model import AgentModel
from milepost.fit.cohorts import CohortFits
from milepost.fit.comparison.candidates import standard_candidates
from milepost.fit.comparison.compare import Candidate, Comparison, compare
from milepost.fit.groups import LEAST, fit_groups, parse_fields, split_decisions
from milepost.fit.groups import fit_line as fit_groups_on_line
from milepost.fit.methods.reference import ReferenceModel
from milepost.fit.result import FitResult, clipping_text
from milepost.fit.uncertainty.bootstrap import Bootstrap
from milepost.intrinsic.calibration.calibration import Calibration, load_calibration
from milepost.intrinsic.rating.live import Follower, Standing
from milepost.intrinsic.rating.posterior import Prior
from milepost.io.files import write_text
from milepost.io.progress import Report
from milepost.io.sources import STDIN, find_sources, open_bytes
from milepost.tables import as_frame

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "AgentModel",
    "Bootstrap",
    "Fields",
    "GroupFits",
    "Prior",
    "ReferenceModel",
    "check_fit",
    "clipping_text",
    "compare_models",
    "fit_agent",
    "fit_agents",
    "fit_line",
    "follow",
    "parse_fields",
]

Fields = Mapping[str, str] | str | None
"""Columns of a table with one row an option, by field, or as ``"decision=visit,value=months"``."""
_SAVE_SECONDS = 10.0
"""The state of followed choosers is on disk at most so long after a decision."""
_LINE_BYTES = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class GroupFits(stage.GroupFits):
    """Fits of the groups of a table of decisions: see `milepost.fit_agents`."""

    def plot(self) -> alt.TopLevelMixin:
        """Return a chart of what each group would lose on the same decisions, best first.

        Raises
        ------
        InputError
            If the groups cannot be compared.
        """
        from milepost.report.choice_charts import losses_chart

        return losses_chart(self.losses)


def fit_agent(
    decisions: Any,
    model: AgentModel | None = None,
    *,
    method: str | None = None,
    covariance: str | Bootstrap = "sandwich",
    fields: Fields = None,
    outside: str = BOUND,
    store: str | Path | None = None,
) -> FitResult:
    """Fit an agent to all decisions together.

    Parameters
    ----------
    decisions
        The decisions: files or a frame with one row an option (any field), the spreads or decisions
        table, `Decisions`, `Spreads`; with a store also games.
    model
        What to fit [default: the agent of the 2011 paper]. Scale, cap and tie shift follow the
        unit: pawns are scaled and capped as in the paper, values of a table with one row an option
        are taken as they are.
    method, covariance
        See `milepost.fit.fit_agent`; ``"bootstrap"`` is ``Bootstrap()``.
    fields
        For a table with one row an option: which column is the decision, the value, chosen, and
        perhaps the group, the weight, the rating [default: columns of these names].
    outside
        Choices outside the listed options: ``"bound"`` or ``"exclude"``.
    store
        The evaluation store, for games.

    Examples
    --------
    >>> import polars as pl
    >>> visits = pl.DataFrame({
    ...     "visit": [n // 3 for n in range(300)],
    ...     "months": [(7 * n % 11) / 2 for n in range(300)],
    ...     "taken": [(7 * n % 11) == max(7 * m % 11 for m in range(n // 3 * 3, n // 3 * 3 + 3))
    ...               if n // 3 % 4 else n % 3 == 1 for n in range(300)],
    ... })
    >>> agent = fit_agent(visits, fields="decision=visit,value=months,chosen=taken")
    >>> agent.model.scale.difference, agent.clipped, agent.n
    ('raw', 0, 100)
    """
    kind, rng, resamples = _bootstrap(covariance)
    spreads = _spreads(decisions, fields, outside, store)
    return fit_spreads(spreads, model, method=method, covariance=kind, rng=rng, resamples=resamples)


def fit_agents(
    decisions: Any,
    by: str | Sequence[str] = (),
    model: AgentModel | ReferenceModel | None = None,
    *,
    method: str | None = None,
    covariance: str | Bootstrap = "sandwich",
    fields: Fields = None,
    outside: str = BOUND,
    least: int = LEAST,
    store: str | Path | None = None,
    progress: Report | None = None,
) -> GroupFits:
    """Fit an agent to each group of the decisions.

    Parameters
    ----------
    decisions, method, covariance, fields, outside, store
        See `fit_agent`.
    by
        Columns to part the decisions by [default: all together].
    model
        What to fit; a `ReferenceModel` for the one-parameter agents of 2009.
    least
        Groups with fewer decisions are left out, and told.
    progress
        Called with the groups done.
    """
    check_fit(model, method, covariance)
    kind, rng, resamples = _bootstrap(covariance)
    given = read_decisions(decisions, store)
    fits = fit_groups(
        given.table,
        [by] if isinstance(by, str) else by,
        model,
        fields=_fields(fields),
        outside=outside,
        least=least,
        method=method,
        covariance=kind,
        rng=rng,
        resamples=resamples,
        progress=progress,
    )
    parts = {part.name: getattr(fits, part.name) for part in dataclass_fields(fits)}
    return GroupFits(**parts | {"names": given.names})


def check_fit(
    model: AgentModel | ReferenceModel | None,
    method: str | None = None,
    covariance: str | Bootstrap = "sandwich",
) -> None:
    """Refuse what cannot be fitted, before anything is read.

    Raises
    ------
    InputError
        If method and covariance do not exist, or do not go with the model.
    """
    kind, _, _ = _bootstrap(covariance)
    if isinstance(model, ReferenceModel):
        if method is not None or kind != "sandwich":
            raise InputError("the agents of 2009 have a posterior: no method and no covariance")
        return
    wanted = model or AgentModel()
    check_method(wanted, method or default_method(wanted), kind)


def fit_line(
    decisions: Any,
    by: str,
    model: AgentModel | None = None,
    *,
    method: str = PERCENTILE,
    fields: Fields = None,
    outside: str = BOUND,
    least: int = LEAST,
    store: str | Path | None = None,
) -> CohortFits:
    """Fit groups freely, put their c on a line, and fit s again: the table of the 2011 paper.

    Parameters
    ----------
    decisions, method, fields, outside, store
        See `fit_agent`.
    by
        A column of numbers: where each group stands on the line (its Elo).
    model, least
        See `fit_agents`.
    """
    return fit_groups_on_line(
        read_decisions(decisions, store).table,
        by,
        model,
        fields=_fields(fields),
        outside=outside,
        least=least,
        method=method,
    )


def compare_models(
    decisions: Any,
    candidates: Mapping[str, Candidate] | Sequence[Candidate] | None = None,
    *,
    everything: bool = False,
    folds: int = 5,
    seed: int = 2011,
    fields: Fields = None,
    outside: str = BOUND,
    store: str | Path | None = None,
    progress: Report | None = None,
) -> Comparison:
    """Compare choice models by what they say of groups they have not seen.

    Parameters
    ----------
    decisions, fields, outside, store
        See `fit_agent`.
    candidates
        What to compare [default: the models worth comparing on these decisions].
    everything
        Without candidates: also all curves and depth schemes, which takes an hour and more.
    folds, seed
        Folds of the cross-validation, and what draws them.
    progress
        Called with the models done.
    """
    spreads = _spreads(decisions, fields, outside, store)
    if candidates is None:
        candidates = standard_candidates(spreads, everything=everything)
    rng = np.random.default_rng(seed)
    return compare(spreads, candidates, folds=folds, rng=rng, progress=progress)


def follow(
    decisions: Any,
    *,
    model: ReferenceModel | None = None,
    calibration: Calibration | str | Path | None = None,
    prior: Prior | tuple[float, float] | None = None,
    level: float = 0.95,
    state: str | Path | None = None,
    on_error: Callable[[int, str], None] | None = None,
) -> Iterator[Standing]:
    """Say after each decision what is known of its chooser, as decisions come in.

    Parameters
    ----------
    decisions
        Decisions in order: any iterable of records or of lines of NDJSON, which may go on for ever;
        a frame; an NDJSON file; ``"-"`` for standard input. A record has ``chooser`` (or
        ``player``, ``mover``), ``values``, ``chosen``, and perhaps ``group`` (``game``,
        ``game_id``), ``id``, ``weight``, ``unlisted``, ``depth_values``; see
        `milepost.intrinsic.rating.live.Decision`.
    model
        What the agents of 2009 look at, and what is known of c beforehand.
    calibration
        For the Elo beside c: a calibration or its name. Decisions then need values by depth.
    prior
        What is known of the Elo beforehand: mean and sd, or a `Prior` [default: even from 600 to
        3400].
    level
        Probability of the intervals.
    state
        A file: choosers go on from what it holds, if it is there, and it is kept up to date.
    on_error
        Called with number (from 1) and reason of what is no decision; the rest goes on.

    Yields
    ------
    Standing
        One a decision; `Standing.to_dict` gives a flat record.

    Raises
    ------
    InputError
        If something is no decision, and there is no `on_error`.
    """
    if isinstance(calibration, str | Path):
        calibration = load_calibration(calibration)
    if isinstance(prior, tuple):
        prior = Prior(*prior)
    follower = Follower(model, calibration=calibration, prior=prior, level=level)
    keeper = None if state is None else _Keeper(Path(state), follower)
    try:
        for number, record in enumerate(_records(decisions), start=1):
            try:
                decision = _record(record)
                if decision is None:
                    continue
                standing = follower.add(decision)
            except InputError as error:
                if on_error is None:
                    raise InputError(f"line {number}: {error}") from error
                on_error(number, str(error))
                continue
            if keeper is not None:
                keeper.note()
            yield standing
    finally:
        if keeper is not None:
            keeper.save()


class _Keeper:
    """Keeps the state of followed choosers in a file, not much later than it changes."""

    def __init__(self, path: Path, follower: Follower):
        self._path = path
        self._follower = follower
        self._changed = False
        self._saved = time.monotonic()
        if path.exists():
            try:
                known = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise InputError(f"cannot read the state {path}: {error}") from error
            try:
                follower.restore(known)
            except InputError as error:
                raise InputError(f"{path}: {error}") from error

    def note(self) -> None:
        """A decision came in."""
        self._changed = True
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        if self._changed:
            write_text(self._path, json.dumps(self._follower.to_dict()) + "\n")
            self._changed, self._saved = False, time.monotonic()


def _records(given: Any) -> Iterable[Any]:
    if isinstance(given, str | Path):
        return _lines(given)
    if isinstance(given, pl.DataFrame | pl.LazyFrame) or hasattr(given, "__arrow_c_stream__"):
        rows: Iterable[Any] = as_frame(given).iter_rows(named=True)
        return rows
    if isinstance(given, Decisions):
        return given.table.iter_rows(named=True)
    items: Iterable[Any] = given
    return items


def _lines(name: str | Path) -> Iterator[bytes]:
    """Lines of a file, or of standard input as soon as each is there."""
    if str(name) == STDIN:
        yield from iter(sys.stdin.buffer.readline, b"")
        return
    for source in find_sources([name]):
        with open_bytes(source) as handle:
            rest = b""
            while piece := handle.read(_LINE_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                yield from lines
            if rest:
                yield rest


def _record(item: Any) -> Mapping[str, Any] | None:
    """A record out of a line; None = an empty one."""
    if not isinstance(item, str | bytes):
        return item  # type: ignore[no-any-return]
    if not item.strip():
        return None
    try:
        record = json.loads(item)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is no JSON: {error}") from error
    return record  # type: ignore[no-any-return]


def _spreads(given: Any, fields: Fields, outside: str, store: str | Path | None) -> Spreads:
    if isinstance(given, Spreads):
        return given
    table = read_decisions(given, store).table
    ((_, spreads),) = split_decisions(table, fields=_fields(fields), outside=outside)
    return spreads


def _fields(fields: Fields) -> Mapping[str, str] | None:
    return parse_fields(fields) if isinstance(fields, str) else fields


def _bootstrap(covariance: str | Bootstrap) -> tuple[str, np.random.Generator | None, int]:
    if covariance == "bootstrap":
        covariance = Bootstrap()
    if isinstance(covariance, str):
        return covariance, None, Bootstrap.resamples
    return "bootstrap", np.random.default_rng(covariance.seed), covariance.resamples
