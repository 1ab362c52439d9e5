"""The web application over the same public functions as the command line."""
