"""The exact engine: the model as CP-SAT constraints, filled in bulk."""
