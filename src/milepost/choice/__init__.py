"""Game-neutral models of a fallible chooser: scaled differences, curves, ratio models, agents."""
