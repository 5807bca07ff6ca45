"""Specs: rules as the user states them, one file each, compiled into cells of the model."""
