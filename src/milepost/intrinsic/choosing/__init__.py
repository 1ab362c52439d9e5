"""How an agent chooses a move: calibrated, in decided positions, with technique, in time."""
