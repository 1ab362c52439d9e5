"""Charts and texts of skill through time."""
