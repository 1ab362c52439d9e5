"""Claims of Di Fatta, Haworth & Regan (2009)."""
