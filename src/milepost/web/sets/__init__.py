"""Sets of games on disk: what came in, the job that works on them, and what came out."""
