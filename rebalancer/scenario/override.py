"""What another file says over a scenario: tonight's tables, how to solve, how to plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalancer.problem import Path
from rebalancer.scenario.document import Document
from rebalancer.scenario.plan_section import PlanOptions
from rebalancer.scenario.sections import SolveOptions, TableSource


@dataclass(frozen=True, eq=False)
class Override:
    """What a file says over a scenario, and where in it that stands.

    Parameters
    ----------
    document : Document
        The file; its paths are relative to it.
    tables : mapping of str to tuple of TableSource
        Table of the scenario -> where its rows come from instead; as many as the scenario has of that name.
    tables_path : Path
        Where they stand.
    url : str or None
        The database of the queries that name none, as typed.
    url_path : Path
    solve : SolveOptions
        The fields that are stated count.
    plan : PlanOptions or None
    plan_path : Path
    include : str or None
        One more file to include, as typed.
    include_path : Path
    """

    document: Document
    tables: Mapping[str, tuple[TableSource, ...]] = field(default_factory=dict)
    tables_path: Path = ("tables",)
    url: str | None = None
    url_path: Path = ("url",)
    solve: SolveOptions = field(default_factory=SolveOptions)
    plan: PlanOptions | None = None
    plan_path: Path = ("plan",)
    include: str | None = None
    include_path: Path = ("include",)
