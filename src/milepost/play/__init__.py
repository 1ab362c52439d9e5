"""A UCI engine that chooses its moves as a fitted human would."""
