"""The commands that ask a saved history: what people type, and what they are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_history_commands import run

from milepost.api.histories import load_history

NAMES = [
    "Fischer, Robert", "Spassky, Boris", "Tal, Mihail", "Tal Mikhail", "Larsen, Bent",
    "Keres, Paul", "Geller, Efim", "Smyslov, Vassily", "Portisch, Lajos", "Gligorić, Svetozar",
    "Fischer",
]  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league of eleven names with printed Elos, 1970 to 1973; some years later one comes back."""
    rng = np.random.default_rng(1972)
    games = 1600
    skill = np.linspace(400, -400, len(NAMES))
    weight = np.array([1.0] * 10 + [0.05])
    one = rng.choice(len(NAMES), games, p=weight / weight.sum())
    two = (one + rng.integers(1, len(NAMES) - 1, games)) % (len(NAMES) - 1)
    two = np.where(two == one, (two + 1) % 10, two)
    doubles = {2, 3}
    two = np.where([{a, b} == doubles for a, b in zip(one, two, strict=True)], 9, two)
    apart = skill[one] - skill[two] + rng.normal(0, 600, games)
    elo = (2450 + skill / 4).astype(int)
    year = np.sort(rng.integers(1970, 1974, games))
    table = pl.DataFrame({
        "time": np.where((one == 0) & (rng.random(games) < 0.1), 1992, year),
        "player_1": [NAMES[i] for i in one], "player_2": [NAMES[i] for i in two],
        "score": np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5)),
        "first_mover": np.ones(games, dtype=np.int8),
        "elo_1": elo[one], "elo_2": elo[two], "event": ["Open"] * games,
    })  # fmt: skip
    folder = tmp_path_factory.mktemp("league")
    table.write_parquet(folder / "results.parquet")
    options = ["--set", "first_mover=40", "--beta", "400", "-q", "--set", "preset=plain"]
    code, _, told = run("history", folder / "results.parquet", "--save", folder / "h", *options)
    assert code == 0, told
    return folder / "h"


def test_rank_now_with_doubles_elo_and_a_minimum(saved: Path) -> None:
    code, shown, told = run("rank", saved, "--at", "1972-07", "--scale", "elo")
    assert code == 0
    assert "skill in Elo" in shown
    assert "Fischer, Robert" in shown
    assert "Gligorić, Svetozar" in shown
    assert "Perhaps one person: Tal, Mihail; Tal Mikhail" in told
    assert "Elo = " in told
    assert "from that line" in told
    assert "1 more have fewer than 30 games" in told  # the namesake
    code, shown, told = run("rank", saved)
    assert code == 0
    assert "at 1992 (now)" in shown
    assert "points of this history, not Elo" in told
    code, text, _ = run("rank", saved, "--at", "1972", "--games", "0", "-o", "-")
    assert "fischer" in pl.read_csv(text.encode())["player"].to_list()


def test_compare_says_it_in_a_sentence(saved: Path) -> None:
    code, shown, told = run("compare", saved, "fischer@1972", "spassky@1970", "--scale", "elo")
    assert code == 0
    assert shown.startswith("Chance that Fischer, Robert (1972) was stronger: ")
    assert shown.splitlines()[0].endswith("%")
    assert "±: one standard deviation." in shown
    assert any(line.split() == ["who", "Elo", "±"] for line in shown.splitlines())
    assert "warning: using Fischer, Robert; other matches around 1972: Fischer (" in told
    assert "perhaps the same person spelled differently (milepost history --aliases" in told


def test_predict_with_quality(saved: Path) -> None:
    code, shown, _ = run("predict", saved, "fischer", "spassky", "--at", "1972", "--quality")
    assert code == 0
    history = load_history(saved)
    even = history.quality("fischer, robert", "spassky, boris", 1972)
    chances = history.predict("fischer, robert", "spassky, boris", 1972)
    assert f"How even the game is, from 0 to 1: {even:.2f}" in shown
    expected = chances.win + 0.5 * chances.draw
    assert f"Expected score of Fischer, Robert: {expected:.2f}" in shown
    code, text, _ = run(
        "predict", saved, "fischer", "spassky", "--at", "1972", "--quality", "--format", "csv"
    )
    row = pl.read_csv(text.encode()).row(0, named=True)
    assert (row["quality"], row["expected_score"]) == pytest.approx((even, expected))


def test_career_and_search(saved: Path, tmp_path: Path) -> None:
    code, shown, told = run("career", saved, "fischer", "--scale", "elo")
    assert code == 0
    career = load_history(saved).on("elo").career("fischer, robert")
    for line in career.lines:
        assert line in shown
    assert "best wins" in shown
    assert "No games between 1973 to 1992" in shown
    assert "Elo = " in told
    code, _, _ = run("career", saved, "fischer", "--wins", "2", "-o", tmp_path / "wins.csv")
    assert code == 0
    assert len(pl.read_csv(tmp_path / "wins.csv")) == 2
    code, shown, told = run("search", saved, "spasky")
    assert code == 0
    assert "Spassky, Boris" in shown
    best = load_history(saved).curves.filter(pl.col("player") == "spassky, boris").sort("mean")
    peak, sd = best.select("mean", "sd").row(-1)
    assert (f"{peak:.0f}", f"{sd:.0f}") == tuple(shown.splitlines()[3].split()[-2:])
    assert "±" in shown
    assert "points of this history" in told
    code, shown, _ = run("search", saved, "qqqq")
    assert "nobody is called 'qqqq'" in shown
    code, text, _ = run("search", saved, "tal", "-o", "-")
    assert pl.read_csv(text.encode()).height == 2
    code, _, told = run("career", saved, "spazky")
    assert code == 1
    assert "did you mean Spassky, Boris" in told


def test_norms_and_scores(saved: Path) -> None:
    field = [
        "spassky",
        "larsen",
        "keres",
        "geller",
        "smyslov",
        "portisch",
        "gligoric",
        "tal, mihail",
    ]
    code, shown, _ = run(
        "norm", saved, "fischer", *field, "larsen", "--at", "1972", "--title", "im"
    )
    assert code == 0
    answer = load_history(saved).norm(
        "fischer, robert", [*field, "larsen"], 1972, title="IM"
    )  # fmt: skip
    assert f"takes {answer.needed:g} of 9" in shown
    assert f"Average rating of the opponents: {answer.average:.0f}" in shown
    assert f"{answer.forecast.score:.1f} ± {answer.forecast.sd:.1f} of 9" in shown
    code, shown, _ = run("norm", saved, "fischer", *field, "--at", "1972")
    assert code == 0
    assert "No chance of a norm for GM: a norm needs 9 games, and these are 8" in shown
    code, shown, _ = run(
        "norm", saved, "fischer", "spassky", "keres", "--at", "1972", "--score", "1.5",
        "--colours", "wb",
    )  # fmt: skip
    movers = load_history(saved).field(
        "fischer, robert", ["spassky, boris", "keres, paul"], 1972, movers=[1, 2]
    )
    assert f"Chance of 1.5 of 2 points: {100 * movers.at_least(1.5):.1f} %" in shown
    given = ["spassky=2700", "keres=2300", "--at", "1972", "--performance", "2600", "-o", "-"]
    code, text, _ = run("norm", saved, "fischer", *given)
    table = pl.read_csv(text.encode())
    assert table["chance"].sum() == pytest.approx(1.0)
    assert table["at_least"][0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("norm", "fischer", "spassky", "--title", "XM"),
            "expected one of GM, IM, WGM, WIM",
        ),
        (("norm", "fischer", "spassky", "--score", "3"), "expected a score from 0 to 1, got 3"),
        (("norm", "fischer", "spassky", "--colours", "wx"), "expected letters w and b"),
        (("norm", "fischer", "spassky=high"), "expected a rating behind ="),
        (("norm", "fischer", "spassky", "--at", "1985"), "no rating of Spassky, Boris is known"),
        (("rank", "--scale", "fide"), "--scale: expected one of points, results, elo"),
    ],
)
def test_what_cannot_be_is_refused(saved: Path, arguments: tuple[str, ...], words: str) -> None:
    command, *others = arguments
    code, _, told = run(command, saved, *others)
    assert code == 1
    assert words in told
    assert "Traceback" not in told


def test_curves_as_elo(saved: Path, tmp_path: Path) -> None:
    results = saved.parent / "results.parquet"
    out = tmp_path / "curves.csv"
    code, _, _ = run("history", results, "-o", out, "--set", "scale=elo", "-q")
    assert code == 0
    table = pl.read_csv(out)
    assert abs((table["mean"] - table["elo"]).mean()) < 40  # type: ignore[arg-type,operator]
    code, _, _ = run(
        "plot", saved, "fischer", "spassky", "--scale", "elo", "-o", tmp_path / "x.svg"
    )
    assert code == 0
    picture = (tmp_path / "x.svg").read_text()
    assert "skill (Elo)" in picture
    assert "broken where there are no games" in picture


def test_a_history_worse_than_the_draw_share_is_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    names = np.array([f"p{i}" for i in range(60)])
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(60)])
    pl.DataFrame({
        "time": np.arange(60) // 10, "player_1": names[pairs[:, 0]], "player_2": names[pairs[:, 1]],
        "score": rng.integers(0, 2, 60).astype(float),
    }).write_csv(tmp_path / "r.csv")  # fmt: skip
    code, _, told = run(
        "history", tmp_path / "r.csv", "--save", tmp_path / "h", "--beta", "20", "--tau", "200"
    )
    assert code == 0
    assert "explains less than the share of draws alone does" in told
    code, _, told = run("rank", tmp_path / "h")
    assert code == 0
    assert "caution: this history explains less than the share of draws" in told
