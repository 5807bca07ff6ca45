"""A job, as its file states it: paths and URLs made whole, every fault of the file at once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from rebalancer.jobs.fields import Guards, JobFile, Output, SnapshotOptions, Taken
from rebalancer.problem import Fault, InputError, Path
from rebalancer.scenario.document import Document
from rebalancer.scenario.files import read_section_file
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.scenario.sections import ScenarioFile, SolveOptions, TableSource
from rebalancer.scenario.urls import completed, parsed
from rebalancer.scenario.yaml_reader import read_yaml

_OF_JOBS = set(JobFile.model_fields) - set(ScenarioFile.model_fields)
_OF_SCENARIOS = set(ScenarioFile.model_fields) - set(JobFile.model_fields)
#: No job file is larger, in bytes.
_LARGEST = 2**20


@dataclass(frozen=True, eq=False)
class Job:
    """A nightly job without faults.

    All paths lead somewhere from the current folder, all URLs are filled from the environment. A URL may hold a
    password: `shown_url` makes of it what may be printed.

    Parameters
    ----------
    name : str
    path : str
        The job file.
    scenario : str or None
        The scenario file; None: all there is comes from a snapshot of Kubernetes.
    snapshot : SnapshotOptions
        Its paths and URLs as they are typed, relative to the job file: `take_snapshot` follows them.
    solve : SolveOptions
        ``model_fields_set`` has what the job states.
    plan : PlanOptions or None
        None: the job states nothing.
    guards : Guards
    output : Output
    history : str
        SQLAlchemy URL.
    metrics : str or None
    lock : str
    document : Document
        Where everything of the file stands.
    """

    name: str
    path: str
    scenario: str | None
    snapshot: SnapshotOptions
    solve: SolveOptions
    plan: PlanOptions | None
    guards: Guards
    output: Output
    history: str = field(repr=False)
    metrics: str | None
    lock: str
    document: Document = field(repr=False)

    @property
    def folder(self) -> str:
        """The folder of the job file, to which its paths are relative."""
        return os.path.dirname(self.path)


def read_job(path: str | os.PathLike[str]) -> Job:
    """Read a job file.

    Parameters
    ----------
    path : path
        The YAML file.

    Raises
    ------
    InputError
        With every fault, each with file, line, column and, where there is one, what was probably meant.
    """
    path = os.fspath(path)
    read = read_section_file(path, JobFile, "the job")
    root = read.document.root
    if isinstance(root, dict) and _OF_JOBS.isdisjoint(root) and not _OF_SCENARIOS.isdisjoint(root):
        message = f"this is a scenario, not a job; a job names it: 'scenario: {os.path.basename(path)}'"
        raise InputError([Fault("wrong-value", message).at(path, 1, 1)])
    if read.content is None:
        raise InputError(read.faults)
    content: JobFile = read.content
    document = read.document
    whole = _Whole(content, path)
    found = [*whole.faults, *(fault for fault in _misfits(content) if not _was_lost(fault, read.faults))]
    placed = [fault.at(document.file, *document.place(fault.path)) for fault in document.without_followers(found)]
    faults = sorted([*read.faults, *placed], key=lambda fault: (fault.line or 0, fault.column or 0))
    if faults:
        raise InputError(faults)
    return Job(
        whole.name,
        path,
        None if content.scenario is None else whole.path_of(content.scenario),
        content.snapshot,
        content.solve,
        content.plan if content.plan.model_fields_set else None,
        content.guards,
        content.output.model_copy(update={"folder": whole.path_of(content.output.folder)}),
        whole.history,
        None if content.metrics is None else whole.path_of(content.metrics),
        whole.path_of(content.lock or f"{whole.name}.lock"),
        document,
    )


def is_job(path: str) -> bool:
    """Return whether a file is a job rather than a scenario: it has sections that only jobs have.

    A file that cannot be read is none; whoever reads it as a scenario says why.
    """
    try:
        if os.path.getsize(path) > _LARGEST:
            return False
        with open(path, "rb") as opened:
            root = read_yaml(opened.read(), path).root
    except OSError:
        return False
    return isinstance(root, dict) and not _OF_JOBS.isdisjoint(root) and _OF_SCENARIOS.isdisjoint(root)


class _Whole:
    """What a job file leaves to be completed: its name, its paths, its URLs."""

    def __init__(self, content: JobFile, path: str) -> None:
        self.folder = os.path.dirname(path)
        self.faults: list[Fault] = []
        self.name = content.name or os.path.splitext(os.path.basename(path))[0]
        if content.lock is None and os.sep in self.name:
            message = f"the name '{self.name}' is no name of a file: choose another, or state 'lock'"
            self.faults.append(Fault("wrong-value", message, ("name",), self.name))
        self._check_paths(content)
        self.history = self._url(content.history or "sqlite:///history.db", ("history",))
        if _in_memory(self.history):
            message = "a history in memory is gone before the next night: name a file, as in sqlite:///history.db"
            self.faults.append(Fault("wrong-value", message, ("history",), content.history))
        snapshot: Path = ("snapshot",)
        if content.snapshot.url is not None:
            self._url(content.snapshot.url, (*snapshot, "url"))
        if content.snapshot.taken is not None and content.snapshot.taken.url is not None:
            self._url(content.snapshot.taken.url, (*snapshot, "taken", "url"))
        for name, sources in content.snapshot.tables.items():
            for position, source in enumerate(sources):
                if source.url is not None:
                    self._url(source.url, (*snapshot, "tables", name, position, "url"))

    def path_of(self, typed: str) -> str:
        """Return a path of the job file as one from the current folder."""
        return os.path.normpath(os.path.join(self.folder, typed))

    def _check_paths(self, content: JobFile) -> None:
        stated = {("metrics",): content.metrics, ("lock",): content.lock, ("output", "folder"): content.output.folder,
                  ("scenario",): content.scenario, ("history",): content.history}  # fmt: skip
        for place, value in stated.items():
            if value is not None and (not value.strip() or "\0" in value):
                self.faults.append(Fault("empty-name", f"{place[-1]}: expected a path, got nothing", place, value))
        if content.metrics is not None and content.metrics.strip() and not content.metrics.endswith(".prom"):
            message = "metrics: the name must end in '.prom', or the collector passes over the file"
            self.faults.append(Fault("wrong-value", message, ("metrics",), content.metrics))

    def _url(self, typed: str, place: Path) -> str:
        """Return a URL filled and relative to the job file; where it is wrong, as it is typed."""
        found = completed(typed, self.folder)
        if isinstance(found, Fault):
            self.faults.append(replace(found, path=place))
            return typed
        return found


def _in_memory(url: str) -> bool:
    """Return whether a URL is that of an SQLite database that no file holds."""
    try:
        read = parsed(url)
    except (ValueError, ImportError):
        return False  # which is reported as such
    return read.get_backend_name() == "sqlite" and read.database in (None, "", ":memory:")


def _misfits(content: JobFile) -> list[Fault]:
    """Return what types cannot say: fields that exclude or need each other."""
    faults: list[Fault] = []
    snapshot = content.snapshot
    if content.scenario is None and snapshot.kubernetes is None:
        faults.append(Fault("missing-field", "missing field 'scenario' of the job", (), "scenario"))
    if snapshot.kubernetes is not None and snapshot.tables:
        message = "a snapshot has either 'tables' or 'kubernetes'"
        faults.append(Fault("unsupported-field", message, ("snapshot", "tables")))
    for name, sources in snapshot.tables.items():
        for position, source in enumerate(sources):
            place: Path = ("snapshot", "tables", name, position)
            faults += _source_faults(source, snapshot.url, f"table '{name}'", place)
    if snapshot.taken is not None:
        faults += _source_faults(snapshot.taken, snapshot.url, "'taken'", ("snapshot", "taken"))
    if content.output.format is not None:
        faults += _template_faults(content.output.format, ("output", "format"))
    return faults


def _was_lost(fault: Fault, reported: list[Fault]) -> bool:
    """Return whether a field is only missing because what is stated there is wrong, which is reported."""
    if fault.code != "missing-field":
        return False
    owner = [step for step in fault.path if isinstance(step, str)]
    wrong = ([step for step in other.path if isinstance(step, str)] for other in reported)
    return any(path[:-1] == owner and path[-1] in ("file", "query", "url", "scenario") for path in wrong if path)


def _source_faults(source: TableSource | Taken, url: str | None, what: str, place: Path) -> list[Fault]:
    if source.file is not None and source.query is not None:
        return [Fault("unsupported-field", f"{what} comes from a file or from a query: state one", (*place, "query"))]
    if source.file is None and source.query is None:
        return [Fault("missing-field", f"missing field 'file' or 'query' of {what}", place, "file")]
    if source.query is not None and source.url is None and url is None:
        return [Fault("missing-field", f"missing field 'url' of {what}: which database is asked?", place, "url")]
    if source.file is not None and source.url is not None:
        return [Fault("unsupported-field", f"{what} comes from a file, which has no 'url'", (*place, "url"))]
    return []


def _template_faults(template: str, place: Path) -> list[Fault]:
    from rebalancer.plan.formats import check_template

    try:
        check_template(template)
    except InputError as error:
        return [replace(fault, path=place) for fault in error.faults]
    return []
