"""Neighbourhood search: frees a few objects, solves that part exactly, keeps what is better."""
