"""A snapshot of a Kubernetes cluster as a scenario, together with the rules of a job."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path as FilePath

from rebalancer.jobs.job import Job
from rebalancer.problem import Fault, InputError
from rebalancer.scenario.databases import Databases
from rebalancer.scenario.importers.folder import write_folder
from rebalancer.scenario.importers.kubernetes import converted
from rebalancer.scenario.override import Override
from rebalancer.scenario.reader import Scenario, load
from rebalancer.scenario.tables import unreadable


def read_cluster(job: Job, override: Override, databases: Databases) -> Scenario:
    """Return the scenario that `rebalance import kubernetes` would make, which includes the job's own.

    Parameters
    ----------
    job : Job
        With ``snapshot.kubernetes``.
    override : Override
        What the job says over it.
    databases : Databases

    Returns
    -------
    Scenario
        Its files are the job's; what was made of them is gone.

    Raises
    ------
    InputError
        The files are malformed or do not fit together, or the job's rules do not fit them.
    """
    typed = _typed(job)
    paths = {field: os.path.normpath(os.path.join(job.folder, name)) for field, name in typed.items()}
    faults = [
        fault.at(job.document.file, *job.document.place(("snapshot", "kubernetes", field)))
        for field, path in paths.items()
        if (fault := unreadable(path, typed[field])) is not None
    ]
    if faults:
        raise InputError(faults)
    files = converted(paths["nodes"], paths["pods"], paths.get("pdbs"))
    if job.scenario is not None:
        rules = os.path.relpath(job.scenario, job.folder or ".")
        override = replace(override, include=rules, include_path=("scenario",))
    with tempfile.TemporaryDirectory(prefix="rebalancer-") as folder:
        made = FilePath(folder) / "cluster"
        write_folder(made, files)
        try:
            scenario = load(made / "scenario.yaml", override, databases)
        except InputError as error:
            raise InputError(_of_the_cluster(error.faults, made, paths["pods"])) from None
        own = [path for path in scenario.files if not FilePath(path).is_relative_to(made)]
        tables = tuple(replace(table, name=paths[table.what + "s"], replaced=True) for table in scenario.tables)
        warnings = _of_the_cluster(scenario.warnings, made, paths["pods"])
    return replace(scenario, files=[*own, *paths.values()], tables=tables, warnings=warnings)


def _typed(job: Job) -> dict[str, str]:
    stated = job.snapshot.kubernetes
    assert stated is not None
    fields = {"nodes": stated.nodes, "pods": stated.pods, "pdbs": stated.pdbs}
    return {field: name for field, name in fields.items() if name is not None}


def _of_the_cluster(faults: list[Fault] | tuple[Fault, ...], made: FilePath, path: str) -> list[Fault]:
    """Return faults that stand in a file of ours, which nobody can look at, as faults of the file it was made from."""
    return [
        fault.at(path, 1, 1) if fault.file is not None and FilePath(fault.file).is_relative_to(made) else fault
        for fault in faults
    ]
