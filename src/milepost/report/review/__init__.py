"""Pages and charts of reviews."""
