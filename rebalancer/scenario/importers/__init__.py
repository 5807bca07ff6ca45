"""Importers: files of other tools turned into scenario folders, one file each."""
