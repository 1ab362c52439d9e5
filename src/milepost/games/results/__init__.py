"""Who beat whom: from games, or from any table."""
