"""Engines, search plans and the evaluation store: positions in, a value for every legal move out."""
