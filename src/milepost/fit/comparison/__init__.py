"""Which model predicts and projects best on decisions it has not seen."""
