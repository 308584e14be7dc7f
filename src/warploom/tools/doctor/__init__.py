"""`warploom doctor`: what of this installation works, and the command that mends what does not.

Takes names of parts, or nothing for all of them. Gives a line for each part. Open `parts.py` first; `probes.py` has a function
for each part, `apart.py` asks those that run foreign code in processes of their own, so that none can stop the others.
"""
