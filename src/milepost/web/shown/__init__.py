"""How things look on pages and in files."""
