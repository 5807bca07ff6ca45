"""A small fleet with a job, which tests change from night to night."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from rebalancer.jobs.history import History
from rebalancer.jobs.job import Job, read_job
from rebalancer.jobs.outcome import Report
from rebalancer.jobs.run import run_job

#: Tasks weigh 10 each, hosts hold 20: one of the three on h0 has to go.
CROWDED = {"t0": "h0", "t1": "h0", "t2": "h0", "t3": "h1"}

SCENARIO: dict[str, Any] = {
    "object": "task",
    "container": "host",
    "tables": {
        "task": {"file": "tasks.csv", "key": "task", "container": "host", "dimensions": ["memory"]},
        "host": {"file": "hosts.csv", "key": "host", "dimensions": ["memory"]},
    },
    "constraints": [{"capacity": {"scope": "host", "dimension": "memory"}, "name": "fits"}],
    "goals": [{"minimize_movement": {"do_not_normalize": True}, "name": "moves", "tuple_pos": 1}],
}


class Fleet:
    """A folder with a scenario, its tables and a job."""

    def __init__(self, folder: Path, **job: Any) -> None:
        self.folder = folder
        self.path = folder / "job.yaml"
        self.hosts("h0", "h1", "h2")
        self.tasks(CROWDED)
        self.scenario()
        self.job(**job)
        #: Nights are counted from now: files of a snapshot must not be from the future.
        self.first_night = datetime.now(UTC)

    def tasks(self, places: Mapping[str, str], **weights: int) -> None:
        """Write where the tasks are; one that weighs something else than 10 by name."""
        rows = [f"{task},{host},{weights.get(task, 10)}\n" for task, host in places.items()]
        (self.folder / "tasks.csv").write_text("task,host,memory\n" + "".join(rows), encoding="utf-8")

    def hosts(self, *names: str, **sizes: int) -> None:
        """Write which hosts there are; one that holds something else than 20 by name."""
        rows = [f"{host},{sizes.get(host, 20)}\n" for host in names]
        (self.folder / "hosts.csv").write_text("host,memory\n" + "".join(rows), encoding="utf-8")

    def scenario(self, **changes: Any) -> None:
        """Write the scenario, with other sections where stated."""
        (self.folder / "scenario.yaml").write_text(yaml.safe_dump(SCENARIO | changes), encoding="utf-8")

    def swapping(self) -> None:
        """State that a would rather be on h1, and b on h0."""
        wishes = [
            {"object_name": name, "scope_item_name": host, "affinity": 1} for name, host in (("a", "h1"), ("b", "h0"))
        ]
        self.scenario(goals=[{"assignment_affinities": {"scope": "host", "affinities": wishes}}])

    def job(self, **sections: Any) -> None:
        """Write the job file."""
        text = yaml.safe_dump({"name": "fleet", "scenario": "scenario.yaml"} | sections)
        self.path.write_text(text, encoding="utf-8")

    def read(self) -> Job:
        """Read the job file."""
        return read_job(self.path)

    def clock(self, day: float) -> Callable[[], datetime]:
        """Return the clock of a night."""
        moment = self.first_night + timedelta(days=day)
        return lambda: moment

    def run(self, day: float = 0.0, **options: Any) -> Report:
        """Run the job on a night."""
        return run_job(self.read(), clock=self.clock(day), **options)

    @property
    def history(self) -> History:
        """The history of the job."""
        return History(self.read().history, create=False)

    @property
    def plans(self) -> list[str]:
        """The names in the folder of plans, hidden ones too."""
        return sorted(path.name for path in (self.folder / "plans").iterdir())

    def plan(self) -> dict[str, Any]:
        """Return the plan that `latest` points to."""
        content: dict[str, Any] = json.loads((self.folder / "plans" / "latest" / "plan.json").read_text("utf-8"))
        return content

    def carry_out(self, most: int | None = None) -> None:
        """Do what `latest` says, or only its first steps."""
        lines = (self.folder / "tasks.csv").read_text(encoding="utf-8").splitlines()
        rows = {name: [host, weight] for name, host, weight in (line.split(",") for line in lines[1:])}
        for step in self.plan()["steps"][:most]:
            assert rows[step["object"]][0] == step["source"]
            rows[step["object"]][0] = step["destination"]
        text = "".join(f"{name},{host},{weight}\n" for name, (host, weight) in rows.items())
        (self.folder / "tasks.csv").write_text("task,host,memory\n" + text, encoding="utf-8")
