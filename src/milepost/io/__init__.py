"""Files in and out: compression, atomic writes, locks, provenance, worker processes; no chess."""
