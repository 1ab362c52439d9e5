"""Estimates of an agent's sensitivity and consistency from choices, with intervals and quality of fit."""
