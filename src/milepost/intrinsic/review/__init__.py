"""What a player or coach asks of games: costs beside equals, phases, groups, traps, the trend."""
