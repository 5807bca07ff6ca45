"""The model as flat arrays: what each object counts in, sums and functions layer by layer, and their numbers."""
