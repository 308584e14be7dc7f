"""`warploom synth` and `warploom demo`.

Takes the name of a case or a file with a sketch. Gives the completed kernel, its verdict, CUDA C++ and a page. Open
`command.py` first.
"""
