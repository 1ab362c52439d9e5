"""How sure a fit is: covariance, bootstrap, profile."""
