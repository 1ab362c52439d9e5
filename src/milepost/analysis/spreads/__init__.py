"""From turns and evaluations to spreads: what every option is worth, and what is left out."""
