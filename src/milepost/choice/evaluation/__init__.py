"""Probabilities and their derivatives for many decisions at once: the kernels."""
