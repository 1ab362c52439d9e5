"""Engines, search plans and the evaluation store: positions in, a value for every move out."""
