"""TrueSkill Through Time: messages, sweeps and evidence; with one margin or one a player."""
