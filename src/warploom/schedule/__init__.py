"""Whole kernels as partially specified implementations: choices, constraints, lower bound, search, code."""
