"""The scales of a history: a line to printed Elos, and that nothing but the numbers changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.history.samples import fit

import milepost as mp
from milepost.errors import InputError
from milepost.history import History, load_history, save_history, update_history
from milepost.history.scales import SCALES, elo_link, printed_elo

SLOPE, ZERO, NOISE = 0.4, 1500.0, 12.0


def rated(games: int = 4000, seed: int = 3) -> pl.DataFrame:
    """Games of 20 players whose Elo is a line of their skill, printed with noise."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, 350, 20)
    one = rng.integers(0, 20, games)
    two = (one + rng.integers(1, 20, games)) % 20
    apart = skill[one] - skill[two] + rng.normal(0, 480 * np.sqrt(2), games)
    elo = ZERO + SLOPE * (1200 + skill)
    return pl.DataFrame({
        "time": np.sort(rng.integers(2000, 2006, games)),
        "player_1": [f"p{i:02}" for i in one], "player_2": [f"p{i:02}" for i in two],
        "score": np.where(apart > 150, 1.0, np.where(apart < -150, 0.0, 0.5)),
        "first_mover": np.ones(games, dtype=np.int8),
        "elo_1": np.round(elo[one] + rng.normal(0, NOISE, games)).astype(np.int16),
        "elo_2": np.round(elo[two] + rng.normal(0, NOISE, games)).astype(np.int16),
    })  # fmt: skip


@pytest.fixture(scope="module", params=["ttt", "ttt-d"])
def history(request: pytest.FixtureRequest) -> History:
    return fit(rated(), request.param, tau=20.0, first_mover=30.0)


def test_the_mean_of_printed_elos_stands_beside_the_skill(history: History) -> None:
    sides = [
        rated().select("time", player=f"player_{side}", elo=pl.col(f"elo_{side}").cast(float))
        for side in (1, 2)
    ]
    expected = pl.concat(sides).group_by("player", "time").agg(pl.col("elo").mean())
    both = history.curves.join(expected, on=["player", "time"], suffix="_expected")
    assert len(both) == len(history.curves)
    assert np.allclose(both["elo"], both["elo_expected"])
    assert printed_elo(history, "p00", 2005.0) == pytest.approx(
        both.filter((pl.col("player") == "p00") & (pl.col("time") == 2005))["elo"][0]
    )
    assert printed_elo(history, "p00", 1990.0) is None


def test_the_line_is_found_with_its_error(history: History) -> None:
    link = elo_link(history)
    # The history is not told where it stands: the slope, and the Elo of the mean player.
    assert link.slope == pytest.approx(SLOPE, rel=0.12)
    line = np.polyfit(history.curves["mean"], history.curves["elo"], 1)
    assert (link.slope, link.zero) == pytest.approx(tuple(line))
    on = history.on("elo")
    apart = on.curves["mean"] - on.curves["elo"]
    assert abs(apart.mean()) < 1e-6  # type: ignore[arg-type,operator]
    assert link.error == pytest.approx(np.sqrt((apart**2).mean()))  # type: ignore[arg-type]
    # What is left is the uncertainty of the skills: the stated one, within a factor.
    assert 0.4 < link.error / on.curves["sd"].mean() < 2.0  # type: ignore[operator]
    assert f"{link.error:.0f} from that line" in on.scale.lines[1]
    assert link.rows == len(history.curves)


def test_nothing_but_the_numbers_changes(history: History) -> None:
    on, link = history.on("elo"), elo_link(history)
    for first_mover in (None, 1, 2):
        assert on.predict("p00", "p01", 2003.4, first_mover=first_mover) == pytest.approx(
            history.predict("p00", "p01", 2003.4, first_mover=first_mover), abs=1e-10
        )
        assert on.quality("p00", "p01", 2008, first_mover=first_mover) == pytest.approx(
            history.quality("p00", "p01", 2008, first_mover=first_mover), abs=1e-10
        )
    before, after = history.compare("p00@2001", "p00@2005"), on.compare("p00@2001", "p00@2005")
    assert after.probability == pytest.approx(before.probability, abs=1e-10)
    assert after.difference.sd == pytest.approx(link.slope * before.difference.sd)
    assert after.unit == "Elo"
    assert "Elo" in repr(after)
    ranks = history.rank(2003), on.rank(2003)
    assert ranks[0]["player"].to_list() == ranks[1]["player"].to_list()
    assert np.allclose(ranks[1]["mean"], link.zero + link.slope * ranks[0]["mean"].to_numpy())
    moment = history.skill("p03", 2010)
    assert on.skill("p03", 2010).mean == pytest.approx(link.zero + link.slope * moment.mean)
    assert on.skill("p03", 2010).sd == pytest.approx(link.slope * moment.sd)
    assert history.on("points") is history
    assert on.on("elo") is on


def test_a_scaled_history_is_for_looking_only(history: History, tmp_path: Path) -> None:
    on = history.on("elo")
    with pytest.raises(InputError, match="save the one it was made from"):
        save_history(on, tmp_path / "h")
    with pytest.raises(InputError, match="update the one it was made from"):
        update_history(on, rated().head(5))
    with pytest.raises(InputError, match="is on the scale elo already"):
        on.on("points")
    with pytest.raises(InputError, match=f"expected a scale of {', '.join(SCALES)}; got 'fide'"):
        history.on("fide")


def test_elos_are_kept_when_saved_and_updated(tmp_path: Path) -> None:
    games = rated(1500)
    whole = fit(games, tau=20.0)
    part = update_history(fit(games.head(1000), tau=20.0), games.tail(500))
    assert np.allclose(part.curves["elo"], whole.curves["elo"])
    save_history(whole, tmp_path / "h")
    again = load_history(tmp_path / "h")
    assert again.curves.equals(whole.curves)
    assert elo_link(again) == elo_link(whole)


def test_without_printed_elos_there_is_no_such_scale() -> None:
    bare = mp.fit_history(rated(300).drop("elo_1", "elo_2"))
    with pytest.raises(InputError, match="needs Elos printed beside the games"):
        bare.on("elo")
    turned = rated().with_columns(elo_1=4000 - pl.col("elo_1"), elo_2=4000 - pl.col("elo_2"))
    with pytest.raises(InputError, match="do not rise with the skill"):
        mp.fit_history(turned).on("elo")
    with pytest.raises(InputError, match="on the scale of Elo's curve already"):
        mp.fit_history(rated(), mp.Elo()).on("elo")
