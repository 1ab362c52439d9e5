"""How attractive an option is, by how much worse than the best it is."""
