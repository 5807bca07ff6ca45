"""The constraint languages of other schedulers: each module turns one system's syntax into specs, and nothing else."""
