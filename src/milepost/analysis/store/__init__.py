"""The evaluation store: positions as keys, Parquet shards, the folder that only grows."""
