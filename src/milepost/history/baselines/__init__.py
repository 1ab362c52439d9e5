"""Elo and Glicko-2, to compare with."""
