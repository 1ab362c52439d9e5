"""From the attraction of the options to their probabilities."""
