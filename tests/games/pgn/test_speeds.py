"""How fast a game was: from the time control, a server's pool, or the event's name."""

from __future__ import annotations

import polars as pl
import pytest

from milepost.games.pgn.speeds import (
    CONDITIONS,
    NOT_STANDARD,
    SPEEDS,
    has_condition,
    speeds_of,
)


def _speed(time_control: str | None = None, event: str | None = None) -> str | None:
    frame = pl.DataFrame(
        {"time_control": [time_control], "event": [event]},
        schema={"time_control": pl.String, "event": pl.String},
    )
    found: str | None = speeds_of(frame).item()
    return found


def _has(condition: str, event: str | None, site: str | None = None, **more: str) -> bool:
    frame = pl.DataFrame(
        {"event": [event], "site": [site], "speed": [more.get("speed")]},
        schema=dict.fromkeys(("event", "site", "speed"), pl.String),
    )
    found: bool = frame.select(has_condition(condition)).item()
    return found


# The seconds for sixty moves by hand, against 180, 600 (still blitz) and 3600.
@pytest.mark.parametrize(
    ("control", "speed"),
    [
        ("60+0", "bullet"),  # 60
        ("120+1", "blitz"),  # 120 + 60 = 180
        ("179", "bullet"),
        ("180+0", "blitz"),
        ("180+2", "blitz"),  # 180 + 120 = 300
        ("300+0", "blitz"),
        ("300", "blitz"),
        ("600+0", "blitz"),  # ten minutes are FIDE's blitz
        ("601", "rapid"),
        ("600+5", "rapid"),  # 600 + 300 = 900
        ("900+10", "rapid"),  # 900 + 600 = 1500
        ("1800+0", "rapid"),
        ("3599", "rapid"),
        ("3600", "classical"),
        ("1800+30", "classical"),  # 1800 + 1800 = 3600
        ("5400+30", "classical"),
        ("90+30", "classical"),  # meant as minutes
        ("60+30", "classical"),
        ("90+5", "blitz"),  # 90 + 300: only ten seconds or more make the base minutes
        ("40/7200:3600", "classical"),  # 7200 for 40 are 10800 for 60
        ("40/7200:20/3600:900+30", "classical"),
        ("40/300", "blitz"),  # 450 for 60
        ("1/86400", "correspondence"),
        ("1/259200", "correspondence"),
        (" 300+0 ", "blitz"),
        ("-", None),
        ("?", None),
        ("", None),
        ("garbage", None),
        ("G/60", None),
        ("300+", None),
        (None, None),
    ],
)
def test_speed_of_a_time_control(control: str | None, speed: str | None) -> None:
    assert _speed(control) == speed


@pytest.mark.parametrize(
    ("event", "speed"),
    [
        ("Rated UltraBullet game", "bullet"),
        ("Rated Bullet game", "bullet"),
        ("Rated Blitz game", "blitz"),
        ("Casual Rapid game", "rapid"),
        ("Rated Classical game", "classical"),
        ("Rated Correspondence game", "correspondence"),
        ("Rated Blitz tournament https://lichess.org/tournament/abc", "blitz"),
    ],
)
def test_pool_of_the_server_comes_before_the_time_control(event: str, speed: str) -> None:
    contrary = "5400+30" if speed != "classical" else "60+0"
    assert _speed(contrary, event) == speed


def test_lichess_rapid_of_ten_minutes() -> None:
    assert _speed("600+0", "Rated Rapid game") == "rapid"


def test_pool_that_is_no_speed_leaves_it_to_the_time_control() -> None:
    assert _speed("60+0", "Rated Crazyhouse game") == "bullet"


def test_time_control_comes_before_the_event_name() -> None:
    assert _speed("5400+30", "Blitz Open") == "classical"


@pytest.mark.parametrize(
    ("event", "speed"),
    [
        ("World Blitz 2019", "blitz"),
        ("Campeonato de Blitz", "blitz"),
        ("Blitzturnier Köln", "blitz"),
        ("Superblitz", "blitz"),
        ("Deutsche Blitzmeisterschaft", "blitz"),
        ("Armageddon", "blitz"),
        ("Titled Bullet Brawl", "bullet"),
        ("European Rapid 2017", "rapid"),
        ("Open Internacional Rápido", "rapid"),
        ("Torneo Rapido", "rapid"),
        ("Rapidplay Championship", "rapid"),
        ("Championnat rapide", "rapid"),
        ("Rapidschach Open", "rapid"),
        ("Superrapid", "rapid"),
        ("Schnellschach-Meisterschaft", "rapid"),
        ("Schnellturnier", "rapid"),
        ("Active Chess", "rapid"),
        ("Quickplay", "rapid"),
        ("ICCF World Cup", "correspondence"),
        ("corr", "correspondence"),
        ("E-mail tournament", "correspondence"),
        ("Fernschach DDR", "correspondence"),
        ("Blitzstein Memorial", None),
        ("Rapidshire Open", None),
        ("Activity Centre Open", None),
        ("Corrientes Open", None),
        ("Wijk aan Zee", None),
        ("", None),
        (None, None),
    ],
)
def test_speed_of_an_event_name(event: str | None, speed: str | None) -> None:
    assert _speed(None, event) == speed


def test_unreadable_control_leaves_it_to_the_event_name() -> None:
    assert _speed("?", "World Blitz") == "blitz"


@pytest.mark.parametrize(
    ("condition", "event"),
    [
        ("simul", "Simul, 20 boards"),
        ("simul", "Simultaneous exhibition"),
        ("simul", "Simultan Berlin"),
        ("blindfold", "Melody Amber Blindfold"),
        ("blindfold", "6. Amber Blind"),
        ("blindfold", "Match sans voir"),
        ("online", "Titled Tuesday"),
        ("online", "Lichess Titled Arena"),
        ("online", "chess.com Speed Chess"),
        ("online", "Online Olympiad 2020"),
        ("online", "FICS rated"),
        ("correspondence", "ICCF Cup"),
        ("blitz", "World Blitz"),
    ],
)
def test_condition_by_the_event_name(condition: str, event: str) -> None:
    assert _has(condition, event)


@pytest.mark.parametrize(
    "site",
    ["https://lichess.org/abcd1234", "Chess.com", "chess.com INT", "Internet INT", "INT", "int "],
)
def test_online_by_the_site(site: str) -> None:
    assert _has("online", "Open", site)


@pytest.mark.parametrize("event", ["Gausdal Int", "4th Int. Open", "Bay Area Int Open 2019"])
def test_international_is_not_internet(event: str) -> None:
    assert not _has("online", event, "Gausdal NOR")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_ordinary_event_has_no_condition(condition: str) -> None:
    assert not _has(condition, "Tata Steel Masters", "Wijk aan Zee NED")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_nothing_known_is_no_condition(condition: str) -> None:
    assert not _has(condition, None, None)


@pytest.mark.parametrize("speed", SPEEDS)
def test_known_speed_is_a_condition(speed: str) -> None:
    assert [name for name in SPEEDS if _has(name, "Open", speed=speed)] == [speed]


def test_known_speed_overrules_the_event_name() -> None:
    assert not _has("blitz", "Blitz Open", speed="classical")


def test_only_classical_is_standard() -> None:
    assert set(CONDITIONS) - set(NOT_STANDARD) == {"classical"}


@pytest.mark.parametrize(
    ("control", "speed"),
    [
        ("3+2", "blitz"),  # minutes: 3 * 60 + 60 * 2 = 300 s
        ("5+0", "blitz"),
        ("10+5", "rapid"),  # 600 + 300 = 900 s
        ("15+10", "rapid"),  # 900 + 600 = 1500 s
        ("40/90+30", "classical"),  # 90 * 60 * 60/40 + 60 * 30 = 9900 s
        ("15+0", "bullet"),  # a server's fifteen seconds
        ("30+0", "bullet"),
    ],
)
def test_minutes_where_seconds_would_make_no_sense(control: str, speed: str) -> None:
    frame = pl.DataFrame({"time_control": [control], "event": ["Some Open"]})
    assert speeds_of(frame).to_list() == [speed]
