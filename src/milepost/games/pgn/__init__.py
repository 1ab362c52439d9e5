"""PGN: where games begin, their tags, their moves, their speed."""
