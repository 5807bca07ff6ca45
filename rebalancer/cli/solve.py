"""`rebalance solve`: finds a better assignment and writes it."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, nullcontext
from fractions import Fraction

import click

from rebalancer.cli import exits, faults
from rebalancer.cli.assignment_file import AssignmentFile
from rebalancer.cli.interrupts import kept_answers, noting
from rebalancer.cli.options import Duration, EngineName, FilePath, Share, Targets, common, scenario_argument
from rebalancer.cli.output import OutputFolder, write_solution
from rebalancer.cli.process import began
from rebalancer.cli.scenario_file import read_scenario


@click.command(name="solve")
@scenario_argument
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=FilePath(),
    help="Write result.json, assignment.csv and moves.csv to this folder.",
)
@click.option(
    "--time-limit", metavar="TIME", type=Duration(), help="Such as 60s or 5m; otherwise as SCENARIO says, or 60s."
)
@click.option(
    "--engine",
    metavar="NAME",
    type=EngineName(),
    help="auto, cpsat, local_search or neighbourhood; otherwise as SCENARIO says, or auto.",
)
@click.option("--gap", metavar="SHARE", type=Share(), help="Relative gap at which to stop, such as 0.01 or 1%.")
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Seed of the search.")
@click.option("--workers", metavar="N", type=click.IntRange(min=1), help="How many searchers.")
@click.option(
    "--start",
    metavar="FILE.csv",
    type=FilePath(),
    help="An assignment to start from, such as assignment.csv of another run.",
)
@click.option("--deterministic", is_flag=True, default=None, help="The same seed and workers give the same answer.")
@click.option("--iterations", metavar="N", type=click.IntRange(min=1), help="Rounds of search after which to stop.")
@click.option(
    "--deterministic-time",
    metavar="TIME",
    type=Duration(),
    help="Counted work instead of the time limit; implies --deterministic.",
)
@click.option(
    "--target",
    metavar="VALUE[,VALUE…]",
    type=Targets(),
    help="Stop when the objective, by tuple position, is this good, such as 10 or 10,0.5.",
)
@click.option("--patience", metavar="TIME", type=Duration(), help="Stop after so long without a better answer.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@common
def command(
    scenario: str,
    output: str | None,
    time_limit: float | None,
    engine: str | None,
    gap: float | None,
    seed: int | None,
    workers: int | None,
    start: str | None,
    deterministic: bool | None,
    iterations: int | None,
    deterministic_time: float | None,
    target: list[Fraction] | None,
    patience: float | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Find a better assignment for SCENARIO, and prove how good it is.

    Ctrl-C ends the search with the best assignment so far, or gives up where
    there is none yet.
    """
    stop, answered, start_of_command = threading.Event(), threading.Event(), began()
    with ExitStack() as stack:
        stack.enter_context(kept_answers(stop, answered=answered))

        from rebalancer.report.progress import reporter
        from rebalancer.solver import Rebalancer

        read = read_scenario(scenario)
        table = None if start is None else AssignmentFile(start, read.problem)
        folder = None if output is None else stack.enter_context(OutputFolder(output))
        with nullcontext() if table is None else table.located(), reporter(quiet) as show:
            solution = Rebalancer.from_scenario(read).solve(
                engine=engine,
                time_limit=time_limit,
                gap=gap,
                seed=seed,
                workers=workers,
                deterministic=deterministic,
                iterations=iterations,
                deterministic_time=deterministic_time,
                target=target,
                patience=patience,
                start=None if table is None else table.frame,
                on_progress=noting(answered, show),
                stop=stop,
                began=start_of_command,
            )
        written = None if folder is None else write_solution(folder, solution)
    if as_json:
        faults.print_json(solution.to_json())
    else:
        from rich.console import Console

        from rebalancer.report.results import show_solution

        where = (
            None
            if written is None or output is None
            else f"{', '.join(written[:-1])} and {written[-1]} are in {output}"
        )
        show_solution(solution, Console(file=sys.stdout), where)
    return exits.of_solution(solution)
