"""Claims of Dangauthier, Herbrich, Minka & Graepel (2007)."""
