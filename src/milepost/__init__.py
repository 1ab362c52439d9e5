"""Milepost measures skill: by the quality of decisions, by results through time, and joined."""

__version__ = "0.1.0"
