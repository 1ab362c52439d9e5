"""Sets of games: by which rules, from which events, written with their moves."""
