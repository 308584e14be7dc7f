"""Long runs: executors, processes, cluster, journal, events, the cache of answers.

Takes tasks (a function with its arguments and limits). Gives each result or failure as it ends, kept so that a run can go on
later. Open `executor.py` first.
"""
