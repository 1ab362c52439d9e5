"""Calibration of agents against Elo, intrinsic ratings, projections, fair-play figures."""
