"""Players: one form of a name, who is who, who may be one person twice."""
