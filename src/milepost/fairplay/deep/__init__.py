"""A deeper search of one performance, and how often honest players agree with it."""
