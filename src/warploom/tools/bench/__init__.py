"""`warploom bench`: benchmark cases, each in a fresh process.

Takes names of cases. Gives one report line each and a table of results. Open `run.py` first, then `case.py`.
"""
