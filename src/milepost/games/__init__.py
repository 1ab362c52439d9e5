"""Games in: PGN and result tables, players, duplicates, events, selection, turns."""

from milepost.games.convert import Target, write_games, write_results, write_turns
from milepost.games.duplicates import find_duplicates
from milepost.games.load import list_players, read_games, read_results, read_turns
from milepost.games.players.lookalikes import likely_duplicates
from milepost.games.players.names import normalise_name
from milepost.games.players.resolve import find_players
from milepost.games.results.from_games import results_of_games
from milepost.games.results.from_table import parse_mapping, results_of_table
from milepost.games.results.standings import standings
from milepost.games.selection.criteria import Criteria, Selection, milepost_grid, select_games
from milepost.games.selection.events import event_kinds
from milepost.games.selection.write import write_selection
from milepost.games.turns.replay import turns_of_games

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
