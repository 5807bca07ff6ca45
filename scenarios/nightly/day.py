"""Plays the day between two nights: the first wave of the plan is carried out, and new tasks arrive.

In a real fleet this is your executor, and your scheduler.
"""

import csv
from pathlib import Path

HERE = Path(__file__).parent


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Change the inventory as the day does."""
    inventory = HERE / "inventory" / "tasks.csv"
    tasks = read(inventory)
    steps = [step for step in read(HERE / "plans" / "latest" / "plan.csv") if step["wave"] == "1"]
    where = {task["task"]: task for task in tasks}
    for step in steps:
        assert where[step["object"]]["host"] == step["source"], f"{step['object']} is elsewhere"
        where[step["object"]]["host"] = step["destination"]
    arrived = read(HERE / "arrivals.csv")
    tasks += arrived
    with inventory.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, tasks[0], lineterminator="\n")
        table.writeheader()
        table.writerows(tasks)
    print(f"{len(steps)} steps of the plan are done, {len(arrived)} tasks have arrived")


if __name__ == "__main__":
    main()
