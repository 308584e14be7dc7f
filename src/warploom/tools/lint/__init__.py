"""`warploom lint`: mistakes and costs of a CUDA or PTX kernel, on the lines of its source, without a GPU.

Takes a file, a launch and its arguments. Gives findings by rule, as text, JSON lines, SARIF or annotations of GitHub, and one
line for the kernel. Open `command.py` first, then `rules.py`.
"""
