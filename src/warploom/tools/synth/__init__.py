"""`warploom synth` and `warploom demo`."""
