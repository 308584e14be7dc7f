"""`warploom same`: whether two kernels leave the same in memory.

Takes two files of CUDA C++ or PTX, a launch and its arguments. Gives a proof on symbols, a difference that was run, or how many
runs agreed. Open `command.py`.
"""
