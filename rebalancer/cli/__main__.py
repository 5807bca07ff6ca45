"""`python -m rebalancer.cli` is `rebalance`."""

from rebalancer.cli import main

if __name__ == "__main__":
    main()
