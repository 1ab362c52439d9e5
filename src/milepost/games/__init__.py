"""Games in: PGN and result tables, players, duplicates, events, selection, turns."""

from milepost.games.convert import (
    Target,
    read_games,
    read_results,
    read_turns,
    write_games,
    write_results,
    write_turns,
)
from milepost.games.duplicates import find_duplicates
from milepost.games.events import event_kinds
from milepost.games.listing import list_players
from milepost.games.lookalikes import likely_duplicates
from milepost.games.mapping import parse_mapping, results_of_table
from milepost.games.names import normalise_name
from milepost.games.players import find_players
from milepost.games.results import results_of_games
from milepost.games.select import Criteria, Selection, milepost_grid, select_games
from milepost.games.selecting import write_selection
from milepost.games.standings import standings
from milepost.games.turns import turns_of_games

__all__ = [
    "Criteria",
    "Selection",
    "Target",
    "event_kinds",
    "find_duplicates",
    "find_players",
    "likely_duplicates",
    "list_players",
    "milepost_grid",
    "normalise_name",
    "parse_mapping",
    "read_games",
    "read_results",
    "read_turns",
    "results_of_games",
    "results_of_table",
    "select_games",
    "standings",
    "turns_of_games",
    "write_games",
    "write_results",
    "write_selection",
    "write_turns",
]
