"""Compiled local search: the model as flat arrays, kernels over them, and what searches with these."""
