"""Evaluations made elsewhere, or for elsewhere: scored tables, comments of games, delta logs.

Each source has a set-up of its own in the store, so that its values never mix with others: only
`scored_tables`, whose making is known to the last option, gets the set-up that a run of the plan
``quick`` has, and is then taken for such a run. A row that cannot be what it claims to be is
refused by its number, and the rest goes on.
"""
