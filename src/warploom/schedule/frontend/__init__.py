"""Tensor functions: mathematics written as Python, read into the backbones of kernels."""

from warploom.schedule.frontend.functions import TensorFunction, tensor
from warploom.schedule.frontend.words import exp, log, out, pad, prod, sqrt, tanh, temp

__all__ = ["TensorFunction", "exp", "log", "out", "pad", "prod", "sqrt", "tanh", "temp", "tensor"]
