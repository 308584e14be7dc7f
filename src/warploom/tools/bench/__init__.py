"""`warploom bench`: benchmark cases, each in a fresh process."""
