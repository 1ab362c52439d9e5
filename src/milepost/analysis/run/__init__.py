"""Analysis: on the cores of one machine or of a cluster, nothing twice, nothing lost."""
