"""The command that compares performances with honest play: check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milepost.cli import decisions as shared
from milepost.cli import options, show
from milepost.io.shown import interval_text

if TYPE_CHECKING:
    from milepost.api.decisions import Decisions
    from milepost.api.fairplay import Check, CheckPlan, FullTest

LEAST_TURNS = 60
"""Nothing is shown of fewer turns, as in `milepost.fairplay.screen`."""
_DROPPED_FIRST = ("worst case", "opponents", "games", "Elo")
"""Columns that a narrow terminal does without, in this order."""


def check(
    inputs: options.Inputs,
    store: shared.Store = None,
    player: Annotated[
        list[str] | None,
        typer.Option(
            "--player", metavar="NAME", help="Player to test in full, with --full; repeatable."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Test the players named with --player in full.")
    ] = False,
    elo: Annotated[
        list[str] | None,
        typer.Option(
            "--elo", metavar="NAME=ELO", help="A player's rating before the event; repeatable."
        ),
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(
            "--ratings",
            metavar="FILE",
            help="A table of such ratings: columns player, elo and rating_sd.",
        ),
    ] = None,
    later_elo: Annotated[
        list[str] | None,
        typer.Option(
            "--later-elo",
            metavar="NAME=ELO",
            help="A player's rating after the event; only used in the sensitivity table of a full"
            " test.",
        ),
    ] = None,
    known_games: Annotated[
        str | None,
        typer.Option(
            "--known-games",
            metavar="PATH",
            help="Games played before the event. A full test then also starts at each game's "
            "first new move.",
        ),
    ] = None,
    after_round: Annotated[
        int | None,
        typer.Option("--after-round", min=1, help="Only games up to this round."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Show the evidence after every round.")
    ] = False,
    names: Annotated[
        bool,
        typer.Option("--names", help="Show names instead of numbers."),
    ] = False,
    sort: Annotated[
        str,
        options.choice(
            "--sort",
            ("seed", "name", "index"),
            metavar="seed|name|index",
            help="Sort rows by seed, name or index.",
            listed=False,
        ),
    ] = "seed",
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Write the table; a name ending in .json gets all figures.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="FILE", help="Write a page to print (HTML or PDF)."),
    ] = None,
    reply: Annotated[
        str | None,
        typer.Option(
            "--reply", metavar="FILE", help="Text file with the player's reply, for the report."
        ),
    ] = None,
    analyse: Annotated[
        bool,
        typer.Option("--analyse/--no-analyse", help="Analyse missing positions first."),
    ] = True,
    plan: Annotated[
        str | None,
        options.choice(
            "--plan",
            options.PLANS,
            help="Which search plan to use, if the store holds several.",
            listed=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed for the simulated performances.")
    ] = 2011,
    workers: options.Workers = options.ALL_CORES,
    quiet: options.Quiet = False,
) -> None:
    """Compare performances with honest play, for fair-play review.

    Screens every player of an event; --player NAME --full also tests one performance in full. Each
    figure comes with its false-alarm rate and power. It is evidence, never a judgement on a person.
    """
    from milepost import api
    from milepost.errors import InputError

    if store is None:
        raise InputError("check needs --store DIR: evaluations and the ledger of looks are there")
    if full and not player:
        raise InputError("--full tests one performance: name whose with --player")
    if player and not full:
        raise InputError(
            "--player names whom to test in full: say --full too, or leave it out to screen all"
        )
    api.fairplay.check_report_ending(report)
    if reply is not None and report is None:
        raise InputError("--reply is put into a report: say --report FILE too")
    answer = _read(reply)
    given = api.fairplay.parse_elos(elo or [])
    how = api.fairplay.CheckPlan(
        full=full, after_round=after_round, search=plan, order=sort, seed=seed,
        later_elos=dict(api.fairplay.parse_elos(later_elo or [])),
    )  # fmt: skip
    decisions = _decisions(inputs, store, plan, analyse=analyse, workers=workers, quiet=quiet)
    _refuse_unrated(decisions, given=bool(given) or ratings is not None)
    shared.find_calibration(None, decisions, store, quiet=True, bridged=False)
    if full and analyse:
        _look_deep(decisions, store, player or [], workers=workers, quiet=quiet)
    with show.progress("checking", quiet=quiet) as tell:
        found = api.fairplay.check(
            decisions, store, player=player or (), elos=dict(given), ratings=ratings,
            known_games=known_games, plan=how, looked_at=_now(), workers=workers, progress=tell,
        )  # fmt: skip
    if output is not None:
        found.save(output, names=names)
    if report is not None:
        found.report(
            report, names=names, reply=answer,
            command=_command(how, given, ratings, known_games, analyse=analyse),
        )  # fmt: skip
    if output != "-":
        _show(found, names=names, order=sort)
        _show_results(found, names=names)
        for test in found.full:
            _show_full(found, test, names=names)
        if follow:
            _show_sequence(found, names=names)
    _tell(found, quiet=quiet)
    for path in (output, report):
        if not quiet and path not in {None, "-"}:
            show.say(f"{len(found):,} performances -> {path}", err=True)


def _refuse_unrated(decisions: Decisions, *, given: bool) -> None:
    """Say how to give ratings, where the games have none and none are given."""
    from milepost.errors import InputError

    if not given and not decisions.table["mover_elo"].count():
        raise InputError(
            "nobody has a rating in these games: give ratings from before the event, as "
            '--ratings FILE (columns player and elo) or --elo "NAME=1850" for each player'
        )


def _decisions(
    inputs: list[str], store: str, plan: str | None, *, analyse: bool, workers: int, quiet: bool
) -> Decisions:
    """The decisions of the event; what the store lacks is analysed first."""
    from pathlib import Path

    from milepost import api
    from milepost.errors import NotAnalysedError

    def read() -> Decisions:
        return shared.read_decisions(inputs, store, workers=workers, quiet=quiet, plan=plan)

    if not analyse:
        return read()
    if Path(store, "store.json").exists():
        try:
            found = read()
        except NotAnalysedError:
            found = None
        if found is not None and not found.missing:
            return found
    if plan is None:
        shared.analyse_missing(inputs, store, None, None, workers=workers, quiet=quiet)
    else:
        with show.progress("analysing", quiet=quiet, unit="positions") as tell:
            done = api.analyses.analyse(inputs, store, plan, workers=workers, progress=tell)
        if not quiet:
            show.say(str(done), err=True)
    return read()


def _look_deep(
    decisions: Decisions, store: str, player: list[str], *, workers: int, quiet: bool
) -> None:
    """Search the turns of a full test deep, as far as that is not done."""
    from milepost import api

    with show.progress("looking deep", quiet=quiet, unit="positions") as tell:
        problem = api.fairplay.look_deep_at(
            decisions, store, player, workers=workers, progress=tell
        )
    if problem and not quiet:
        show.say(f"no deep look: {problem}", err=True, prose=True)


def _now() -> str:
    from datetime import datetime

    return datetime.now().astimezone().isoformat(timespec="seconds")


def _read(reply: str | None) -> str:
    from pathlib import Path

    from milepost.errors import InputError

    if reply is None:
        return ""
    try:
        return Path(reply).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the reply {reply}: {error}") from error


def _command(
    how: CheckPlan, given: list[tuple[str, int]], ratings: str | None, known_games: str | None,
    *, analyse: bool,
) -> str:  # fmt: skip
    """The command that makes the figures anew, without names: a report may be passed on."""
    parts = ["milepost check EVENT.pgn --store STORE"]
    parts += [f"--plan {how.search}"] if how.search else []
    parts += [f"--after-round {how.after_round}"] if how.after_round else []
    parts += [f"--elo NAME={elo:g}" for _, elo in given]
    parts += [f"--later-elo NAME={elo:g}" for elo in how.later_elos.values()]
    parts += ["--ratings RATINGS"] if ratings else []
    parts += ["--known-games GAMES"] if known_games else []
    parts += [f"--player NAME --full --seed {how.seed}"] if how.full else []
    parts += [] if analyse else ["--no-analyse"]
    return " ".join(parts)


def _show(found: Check, *, names: bool, order: str) -> None:
    """One line a performance, in the order that was asked for."""
    from milepost import api

    words = api.fairplay.words
    columns = ["player", "Elo", "turns", "games", "IPR (95 %)", "index", "p", "E", "worst case",
               "sees", "opponents", "notes"]  # fmt: skip
    numbers: dict[str, int] = {}
    rows = []
    for row in found.shown(names=names).iter_rows(named=True):
        told = [text for text in (row["reason"], *(row["warnings"] or "").split("; ")) if text]
        marks = [str(numbers.setdefault(text, len(numbers) + 1)) for text in told]
        rows.append(
            [
                row["player"],
                points(row["elo"]),
                row["turns"],
                row["games"],
                f"{points(row['rating'])} ({interval_text(row['low'], row['high'], to='-')})",
                "" if row["index"] is None else f"{row['index']:.1f}",
                "" if row["p"] is None else words.p_text(row["p"]),
                "" if row["ln_e"] is None else words.ratio_text(row["ln_e"]),
                "" if row["e_worst"] is None else f"{row['e_worst']:.2g}",
                "" if row["noticed"] is None else f"{row['noticed']:.0%}",
                "" if row["mirror_p"] is None else words.p_text(row["mirror_p"]),
                ",".join(marks),
            ]
        )
    title = (
        f"Performances beside honest play ({found.calibration.name}), by {order}. Index: mean 50, "
        "sd 5 among honest players. p: how often they have such an index. E: evidence ratio. Sees: "
        "how often help with one move in five, the mean of the menu, would show at one false alarm "
        "in 100. Opponents: how often honest opponents play as low"
    )
    keep = ["player", "turns", "IPR (95 %)", "index", "p", "E", "sees"]
    keep += ["notes"] if numbers else []
    whole = [name for name in columns if name != "player"]
    show.print_table(columns, rows, title=title, whole=whole, keep=keep, drop_first=_DROPPED_FIRST)
    for text, number in numbers.items():
        show.say(f"  {number}: {text}", prose=True)
    if found.event is not None:
        _show_event(found)


def _show_event(found: Check) -> None:
    event = found.event
    assert event is not None
    counts = ", ".join(
        f"{row['found']} of {row['index']} or more ({row['expected']:.2g} expected)"
        for row in event.counts.iter_rows(named=True)
    )
    show.say(
        f"The event as a whole: mean index {event.mean_index:.1f} (honest events: "
        f"{event.mean_low:.1f} to {event.mean_high:.1f}); {counts}; the largest of "
        f"{event.players} is as high in {event.largest_p:.0%} of honest events.",
        prose=True,
    )


def _show_results(found: Check, *, names: bool) -> None:
    """Where scores came from, one line a player."""
    known = found.luck.filter(found.luck["turns"] >= LEAST_TURNS)
    if not len(known):
        return
    labels = found.labels(names=names)

    def part(row: dict[str, Any], name: str) -> str:
        return f"{row[name]:+.1f} ± {row[f'{name}_se']:.1f}"

    rows = [
        [
            labels.get(row["player"], "?"), row["turns"],
            f"{row['score']:g} of {row['games']}", f"{row['expected']:.1f}",
            part(row, "own_play"), part(row, "opponents_play"), part(row, "rest"),
        ]
        for row in known.iter_rows(named=True)
    ]  # fmt: skip
    rows.sort(key=lambda row: row[0])
    show.print_table(
        ["player", "turns", "score", "expected", "own play", "opponents' play", "the rest"],
        rows,
        title="Where results came from, in points beside what the Elos promise (± one standard "
        f"error; players with {LEAST_TURNS} turns or more). Games in which no turn of both sides "
        "counts are not in it",
        whole=["score", "own play", "opponents' play", "the rest"],
        keep=["score", "own play", "opponents' play", "the rest"],
        drop_first=["turns", "expected"],
    )


def _show_full(found: Check, test: FullTest, *, names: bool) -> None:
    """One performance in full."""
    from milepost import api

    words = api.fairplay.words
    real = test.performance
    label = found.labels(names=names)[real.player]
    typer.echo("")
    headline = f"{label}: {len(real)} turns of {real.games} games, rating {real.rating:.0f}"
    if test.too_little:
        headline += f" (too little for a full test: {test.too_little})"
    show.say(headline, prose=True)
    show.say(f"  {power_sentence(test)}", prose=True)
    show.say(f"  E = {words.ratio_text(test.ln_e)}: {words.support(test.ln_e)}.", prose=True)
    if test.deep is not None:
        show.say(f"  {deep_sentence(test)}", prose=True)
    without = "" if test.deep is None else "Without the deep look: "
    show.say(f"  {without}{ratio_sentence(test)}", prose=True)
    if test.deep is not None and test.deep.pull.counts:
        show.say(
            f"  p of both ratios together is {words.p_text(test.p)}, twice the smaller.",
            prose=True,
        )
    show.print_table(
        ["figure", "actual", "expected", "z raw", "z adjusted", "z published"],
        [[_number(value) for value in row] for row in test.figures.rows()],
        title=f"Figures; correlated: {api.fairplay.correlation_text(test.correlation)}",
    )
    show.print_table(
        ["assistant", "share of turns", "95 %"],
        [
            [share.assistant, f"{share.share:.0%}", f"{share.low:.0%}-{share.high:.0%}"]
            for share in test.shares
        ],
        title="The likeliest share of turns from an assistant, if help could come on any turn",
    )
    show.print_table(
        ["variant", "turns", "index", "z", "E", "worst case", "why not"],
        [
            [
                row["variant"], row["turns"], _number(row["index"], 1), _number(row["z"]),
                "" if row["ln_e"] is None else words.ratio_text(row["ln_e"]),
                "" if row["ln_e_worst"] is None else words.ratio_text(row["ln_e_worst"]),
                row["reason"],
            ]
            for row in test.sensitivity.iter_rows(named=True)
        ],
        title=_sensitivity_title(test),
        whole=["variant"],
        drop_first=["worst case", "z"],
    )  # fmt: skip
    show.print_table(
        ["help", "share of turns", "1 in 100", "1 in 1,000", "match rate, 1 in 100"],
        _power_rows(test),
        title="How often help would be noticed on these turns, by rate of false alarms "
        f"({test.power[0].draws:,} simulated performances a kind of help)",
        whole=["help", "1 in 100", "1 in 1,000"],
    )
    show.print_table(
        ["odds beforehand", "odds afterwards", "probability"],
        [
            [_odds(row["prior_odds"]), _odds(row["posterior_odds"]),
             _percent(row["posterior_probability"])]
            for row in test.posterior.iter_rows(named=True)
        ],
        title="What E makes of odds held beforehand: only you can say what they were",
    )  # fmt: skip


def _sensitivity_title(test: FullTest) -> str:
    known = [value for value in test.sensitivity["index"].to_list() if value is not None]
    return (
        "The same with turns left out (the list is fixed; without the deep look): "
        f"index {min(known):.1f} to {max(known):.1f}"
    )


def _power_rows(test: FullTest) -> list[list[Any]]:
    cells: dict[tuple[str, float], dict[float, Any]] = {}
    for cell in test.all_power:
        cells.setdefault((cell.assistant, cell.share), {})[cell.false_alarms] = cell
    return [
        [
            who,
            f"{share:.0%}",
            *(f"{by_rate[rate].power:.0%}" for rate in sorted(by_rate, reverse=True)),
            f"{by_rate[max(by_rate)].power_match:.0%}",
        ]
        for (who, share), by_rate in cells.items()
    ]


def ratio_sentence(test: FullTest) -> str:
    """E without the deep look, with its worst case and p."""
    from milepost import api

    words, chance, real = api.fairplay.words, test.chance, test.performance
    reference = "no honest performances were measured for this calibration"
    if chance.p_reference is not None:
        reference = (
            f"{words.p_text(chance.p_reference, chance.floor)} among {chance.reference} honest "
            f"performances (which cannot give less than {words.p_text(chance.floor or 0)})"
        )
    return (
        f"E = {words.ratio_text(real.evidence.ln_e)}, worst case "
        f"{words.ratio_text(real.evidence.ln_e_worst)}, p = {words.p_text(chance.p)}: "
        f"{words.p_text(chance.p_simulated)} by {chance.draws:,} simulated performances "
        f"(error {chance.p_simulated_se:.1g}), {reference}."
    )


def deep_sentence(test: FullTest) -> str:
    """What the deep look found, in a few sentences."""
    from milepost import api

    words, deep = api.fairplay.words, test.deep
    assert deep is not None
    counted = (
        "E is the mean of two ratios, without and with the deep look."
        if deep.pull.counts
        else words.not_counted(deep.pull)
    )
    return (
        f"{counted} With it the ratio is {words.ratio_text(deep.ln_e)}, worst case "
        f"{words.ratio_text(deep.ln_e_worst)}, {words.deep_p(deep)}. "
        f"A search to depth {deep.pull.depth} agrees with {deep.played:.0%} of these "
        f"{deep.turns} moves; honest players of this rating agree with it in {deep.expected:.0%} "
        f"({deep.pull.rests_on})."
    )


def power_sentence(test: FullTest) -> str:
    """What this sample would have shown, in a sentence."""
    from milepost import api

    cell = next(
        each
        for each in test.power
        if each.share == 0.2 and each.false_alarms == 0.01 and each.assistant == "another engine"
    )
    cases = api.fairplay.words.cases_text(cell.power)
    return (
        f"On these {len(test.performance)} turns help with one move in five from another engine "
        f"would be noticed in {cases}, at one false alarm in 100."
    )


def _show_sequence(found: Check, *, names: bool) -> None:
    from milepost import api

    words = api.fairplay.words
    table = found.sequence(names=names)
    rows = []
    for (player,), part in table.group_by("player", maintain_order=True):
        numbers = [api.fairplay.round_number(text) for text in part["round"]]
        # Games without a round stand in the order of the file.
        places = [number or place for place, number in enumerate(numbers, start=1)]
        # As in the screening: nothing is shown of fewer turns.
        enough = part["turns"].cum_sum() >= LEAST_TURNS
        after = zip(places, part["ln_e"], enough, strict=True)
        rows.append((player, {place: ln_e for place, ln_e, shown in after if shown}))
    order = found.shown(names=names)["player"].to_list()
    rows.sort(key=lambda row: order.index(row[0]))
    rounds = sorted({place for _, after in rows for place in after})
    cells = [
        [player, *(words.ratio_text(after[place]) if place in after else "" for place in rounds)]
        for player, after in rows
    ]
    show.print_table(
        ["player", *(str(place) for place in rounds)],
        cells,
        title="Evidence ratio after each round, carried forward: it may be read after any of them "
        f"(from {LEAST_TURNS} turns on)",
    )


def _tell(found: Check, *, quiet: bool) -> None:
    if not quiet:
        for note in found.notes:
            show.say(f"  {note}", err=True, prose=True)
        if found.looks:
            show.say(found.looks, err=True, prose=True)
    show.say(
        "This is evidence, not a judgement, and a low figure clears nobody: see docs/fairplay.md.",
        err=True,
        prose=True,
    )


def _odds(odds: float) -> str:
    return f"1 to {1 / odds:,.0f}" if odds < 1 else f"{odds:,.1f} to 1"


def _percent(chance: float) -> str:
    if chance < 0.0001:
        return "under 0.01%"
    return f"{chance:.2%}" if chance <= 0.9999 else "over 99.99%"


def points(value: float | None) -> str:
    """Rating points, or a question mark."""
    return "?" if value is None else f"{value:.0f}"


def _number(value: Any, digits: int = 2) -> Any:
    return f"{value:.{digits}f}" if isinstance(value, float) else value
