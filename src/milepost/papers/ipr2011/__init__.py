"""Claims of Regan & Haworth (2011)."""
