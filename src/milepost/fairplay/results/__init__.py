"""Where results came from: own play, the opponents' play, and the rest."""
