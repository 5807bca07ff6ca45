"""`python -m rebalancer.cli` is `rebalance`."""

from rebalancer.cli import run

if __name__ == "__main__":
    run()
