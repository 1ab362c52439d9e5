"""Ratings of groups of decisions, with intervals and what belongs beside them."""
