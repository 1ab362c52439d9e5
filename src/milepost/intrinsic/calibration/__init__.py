"""Elo and agents on one scale, for one set-up of an engine."""
