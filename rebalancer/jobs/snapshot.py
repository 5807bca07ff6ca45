"""Tonight's state of a fleet, and whether it is to be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rebalancer.jobs.cluster import read_cluster
from rebalancer.jobs.job import Job
from rebalancer.jobs.taken import taken_at
from rebalancer.jobs.times import spoken
from rebalancer.scenario.databases import Databases
from rebalancer.scenario.override import Override
from rebalancer.scenario.reader import Scenario, load

#: Clocks of two machines differ; a snapshot from further ahead is from a clock that is wrong.
CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A state of a fleet, together with the rules.

    Parameters
    ----------
    scenario : Scenario
        Its ``solve`` and ``plan`` are the scenario's own with what the job states over them.
    taken : datetime
        When, in UTC.
    rows : dict of str to int
        Rows of each table: "rows of task" to how many.
    files : tuple of str
        What was read: the job file, the scenario with all that it includes, tables.
    inputs : dict of str to str
        The same, and every query by a name without secrets, with SHA-256: what ``plan.json`` says under ``inputs``.
    objects, containers : int
        How many there are.
    """

    scenario: Scenario
    taken: datetime
    rows: dict[str, int]
    files: tuple[str, ...]
    inputs: dict[str, str]
    objects: int
    containers: int

    @property
    def sizes(self) -> dict[str, int]:
        """What must not shrink unnoticed: rows, objects, containers. The history keeps it for the next night."""
        return {**self.rows, "objects": self.objects, "containers": self.containers}


def take_snapshot(job: Job) -> Snapshot:
    """Read tonight's state.

    What comes from one database is read in one transaction.

    Raises
    ------
    InputError
        Something cannot be read, or is faulty; every fault with its place.
    """
    from rebalancer.plan.formats import digests

    begun = datetime.now(UTC)
    with Databases() as databases:
        if job.snapshot.kubernetes is not None:
            scenario = read_cluster(job, override(job), databases)
        else:
            assert job.scenario is not None  # read_job has seen to it
            scenario = load(job.scenario, override(job), databases)
        taken = taken_at(job, scenario, databases, begun)
    rows: dict[str, int] = {}
    for table in scenario.tables:
        rows[f"rows of {table.what}"] = rows.get(f"rows of {table.what}", 0) + table.rows
    files = (job.path, *scenario.files)
    inputs = {**digests(files), **scenario.queries}
    problem = scenario.problem
    return Snapshot(scenario, taken, rows, files, inputs, len(problem.objects), len(problem.containers))


def override(job: Job) -> Override:
    """Return what a job says over its scenario."""
    return Override(
        job.document,
        tables=job.snapshot.tables,
        tables_path=("snapshot", "tables"),
        url=job.snapshot.url,
        url_path=("snapshot", "url"),
        solve=job.solve,
        plan=job.plan,
        plan_path=("plan",),
    )


def snapshot_refusals(job: Job, snapshot: Snapshot, now: datetime, before: Mapping[str, int] | None) -> list[str]:
    """Return why a snapshot is not to be trusted; nothing: it is.

    Parameters
    ----------
    now : datetime
        Aware of its time zone.
    before : mapping or None
        `Snapshot.sizes` of the last accepted run; None: there is none.
    """
    return [*_wrong_age(job, snapshot.taken, now), *_shrunk(job, snapshot.sizes, before or {})]


def _wrong_age(job: Job, taken: datetime, now: datetime) -> list[str]:
    age = now - taken
    moment = f"{taken:%Y-%m-%d %H:%M} UTC"
    if age < -CLOCK_SKEW:
        ahead = spoken(-age.total_seconds())
        return [f"the snapshot is from the future: taken {moment}, {ahead} ahead of this machine's clock"]
    allowed = job.snapshot.max_age
    if allowed is not None and age.total_seconds() > allowed:
        old = spoken(age.total_seconds())
        return [f"the snapshot is {old} old (taken {moment}); max_age allows {spoken(allowed)}"]
    return []


def _shrunk(job: Job, sizes: Mapping[str, int], before: Mapping[str, int]) -> list[str]:
    """Return what became too few; what the last run did not know, or this one does not read, is not compared."""
    most = job.snapshot.max_shrink
    out = []
    for what, count in before.items():
        now = sizes.get(what)
        if now is not None and count - now > most * count:
            lost = 100 * (count - now) / count
            out.append(
                f"{what} fell from {count:,} to {now:,} ({lost:.3g} % fewer) since the last accepted run; "
                f"max_shrink allows {float(100 * most):.3g} %"
            )
    return out
