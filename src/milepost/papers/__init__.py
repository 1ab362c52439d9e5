"""Claims of the papers, tested on games that the user has: what holds, what does not."""
