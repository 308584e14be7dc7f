"""Long runs: executors, processes, cluster, journal, events, the cache of answers."""
