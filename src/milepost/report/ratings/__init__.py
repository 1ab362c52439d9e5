"""Pages and charts of ratings by moves."""
