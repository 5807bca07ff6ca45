"""The scenario file and what it includes, read and checked section by section."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rebalancer.problem import Fault, InputError, Path
from rebalancer.scenario.document import Document
from rebalancer.scenario.override import Override
from rebalancer.scenario.places import Places
from rebalancer.scenario.sections import IncludedFile, ScenarioFile
from rebalancer.scenario.settle import settle
from rebalancer.scenario.tables import unreadable
from rebalancer.scenario.wording import shown
from rebalancer.scenario.yaml_reader import read_yaml
from rebalancer.specs.fields import Part

#: What to add about a section that only scenario files have.
_NOT_INCLUDED = {
    name: ": an included file may hold constraints, goals, scopes, partitions, plan and include"
    for name in ScenarioFile.model_fields
    if name not in IncludedFile.model_fields
}


@dataclass(eq=False)
class ReadFile:
    """One YAML file of a scenario.

    Parameters
    ----------
    document : Document
    content : IncludedFile or ScenarioFile
        Repaired where there were faults.
    prefix : tuple
        Of the paths into it.
    """

    document: Document
    content: IncludedFile
    prefix: Path


@dataclass(eq=False)
class Files:
    """All YAML files of a scenario.

    Parameters
    ----------
    main : ReadFile
        The scenario file itself; its content is a `ScenarioFile`.
    included : list of ReadFile
        In the order in which they count.
    places : Places
    faults : list of Fault
        Of syntax and structure, in all files, with their places.
    incomplete : set of Path
        Paths below which something was lost, as in the scenario file.
    paths : list of str
        What was read, for whoever wants to know whether it changed.
    """

    main: ReadFile
    included: list[ReadFile]
    places: Places
    faults: list[Fault]
    incomplete: list[Path]
    paths: list[str] = field(default_factory=list)

    @property
    def scenario(self) -> ScenarioFile:
        """The content of the scenario file."""
        assert isinstance(self.main.content, ScenarioFile)
        return self.main.content


@dataclass(eq=False)
class SectionFile:
    """A YAML file of sections, such as a job.

    Parameters
    ----------
    document : Document
    content : model or None
        Repaired where there were faults; None where nothing could be read.
    faults : list of Fault
        With their places.
    """

    document: Document
    content: Any
    faults: list[Fault]


def read_section_file(path: str, model: type[Part], label: str) -> SectionFile:
    """Read a YAML file whose sections are the fields of a model.

    Parameters
    ----------
    path : str
    model : type
    label : str
        What messages call the file: "the job".
    """
    fault = unreadable(path, path)
    if fault is not None:
        return SectionFile(Document(path, None, {}, []), None, [fault.at(path, 1, 1)])
    document = _document(path, path)
    content, faults, _ = _checked(document, model, label, {})
    return SectionFile(document, content, faults)


def read_files(path: str, override: Override | None = None) -> Files:
    """Read a scenario file and all that it includes.

    Parameters
    ----------
    path : str
    override : Override, optional
        May include one more file.

    Raises
    ------
    InputError
        The scenario file itself cannot be read as YAML.
    """
    fault = unreadable(path, path)
    if fault is not None:
        raise InputError([fault.at(path, 1, 1)])
    document = _document(path, path)
    content, faults, incomplete = _checked(document, ScenarioFile, "the scenario", {})
    if content is None:
        raise InputError(faults)
    places = Places(document)
    main = ReadFile(document, content, ())
    files = Files(main, [], places, faults, incomplete, [path])
    includes = _Includes(files)
    if override is not None and override.include is not None:
        includes.add(override.document, override.include, override.include_path)
    includes.follow(main, path, [os.path.realpath(path)])
    return files


class _Includes:
    """Follows ``include`` from file to file, depth first."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.seen: dict[str, str] = {os.path.realpath(files.main.document.file): files.main.document.file}

    def follow(self, source: ReadFile, path: str, chain: list[str]) -> None:
        for position, name in enumerate(source.content.include):
            self._one(source, path, chain, name, (*source.prefix, "include", position))

    def add(self, document: Document, name: str, place: Path) -> None:
        """Include a file that another document names."""
        fault_place = (*self.files.places.add(document), *place)
        self._file(document.file, document.file, [], name, fault_place)

    def _one(self, source: ReadFile, path: str, chain: list[str], name: str, place: Path) -> None:
        if not name.startswith("\0"):
            self._file(source.document.file, path, chain, name, place)

    def _file(self, stated_in: str, path: str, chain: list[str], name: str, place: Path) -> None:
        """Read one file: ``path`` is where the file that names it is, ``stated_in`` what messages call that."""
        target = os.path.join(os.path.dirname(path), name)
        file = os.path.normpath(os.path.join(os.path.dirname(stated_in), name))
        fault = unreadable(target, name)
        real = os.path.realpath(target)
        if fault is None and real in chain:
            fault = Fault("include-cycle", f"'{name}' includes this file again, directly or through others", value=name)
        elif fault is None and real in self.seen:
            fault = Fault(
                "included-twice", f"'{name}' is included already, as '{self.seen[real]}'; once is enough", value=name
            )
        if fault is not None:
            self._fail(replace(fault, path=place))
            return
        self.seen[real] = file
        self.files.paths.append(target)
        document = _document(target, file)
        content, faults, incomplete = _checked(document, IncludedFile, "the included file", _NOT_INCLUDED)
        self.files.faults.extend(faults)
        self.files.incomplete.extend(incomplete)
        if content is None:
            self.files.incomplete.extend([("scopes",), ("partitions",)])
            return
        read = ReadFile(document, content, self.files.places.add(document))
        self.follow(read, target, [*chain, real])
        self.files.included.append(read)

    def _fail(self, fault: Fault) -> None:
        self.files.faults.append(self.files.places.locate(fault))
        if fault.code not in ("included-twice", "include-cycle"):
            self.files.incomplete.extend([("scopes",), ("partitions",)])


def _document(path: str, file: str) -> Document:
    with open(path, "rb") as opened:
        return read_yaml(opened.read(), file)


def _checked(
    document: Document, model: type[Part], label: str, hints: Mapping[str, str]
) -> tuple[Any, list[Fault], list[Path]]:
    """Return the content of a document, its faults with their places, and where something is lost."""
    faults = list(document.faults)
    if any(
        fault.code in ("yaml-syntax", "not-utf8", "too-deep", "too-many-aliases")
        and not isinstance(document.root, Mapping)
        for fault in faults
    ):
        return None, faults, []
    if document.root is None:
        faults.append(Fault("empty-file", f"{label} is empty", (), None, None, document.file, 1, 1))
        return None, faults, []
    if not isinstance(document.root, Mapping):
        example = "assignment" if issubclass(model, IncludedFile) else next(iter(model.model_fields))
        message = f"{label} must be a mapping of sections such as '{example}:', got {shown(document.root)}"
        faults.append(Fault("wrong-type", message, (), None, None, document.file, *document.place(())))
        return None, faults, []
    settled = settle(model, document.root, (), label, hints)
    document.renamed.update(settled.renamed)
    found = document.without_followers(settled.faults)
    incomplete = [fault.path for fault in faults if fault.path]
    incomplete += [fault.path for fault in found if fault.code != "unknown-field"]
    faults += [fault.at(document.file, *document.place(fault.path, _named(fault))) for fault in found]
    return settled.value, faults, incomplete


def _named(fault: Fault) -> Any:
    """Return what a fault complains about where that is the key itself."""
    return fault.value if fault.code in ("unknown-field", "duplicate-field") else None
