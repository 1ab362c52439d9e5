"""Pages and charts of fair-play checks."""
