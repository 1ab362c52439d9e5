"""Games of any number of sides, each of any number of players."""
