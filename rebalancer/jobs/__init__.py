"""Nightly jobs: tonight's snapshot of a fleet becomes a move plan, unattended."""
