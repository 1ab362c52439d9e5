"""Decisions on the board: games replayed, positions, phases."""
