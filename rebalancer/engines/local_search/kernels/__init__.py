"""The compiled part: arrays in, arrays out, no Python objects. Compiled anew when anything in this folder changes."""
