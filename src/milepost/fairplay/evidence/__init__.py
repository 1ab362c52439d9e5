"""The figures of one performance: standard scores, alternatives, evidence ratio, chance, power."""
