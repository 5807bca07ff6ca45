"""`rebalance plan`: orders the moves of a solution into waves that are safe at every moment."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rebalancer.cli import exits, faults
from rebalancer.cli.assignment_file import AssignmentFile
from rebalancer.cli.exits import Exit
from rebalancer.cli.interrupts import kept_answers, noting
from rebalancer.cli.options import Duration, FilePath, common, scenario_argument
from rebalancer.cli.output import OutputFolder
from rebalancer.cli.process import began
from rebalancer.cli.scenario_file import read_scenario

if TYPE_CHECKING:
    from rebalancer.plan import Plan


@click.command(name="plan")
@scenario_argument
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=FilePath(),
    required=True,
    help="Write plan.json, plan.csv and plan.md to this folder.",
)
@click.option(
    "--result",
    metavar="DIR",
    type=FilePath(),
    help="What `rebalance solve -o` wrote; otherwise SCENARIO is solved first.",
)
@click.option("--time-limit", metavar="TIME", type=Duration(), help="For solving, such as 60s or 5m.")
@click.option("--expires", metavar="TIME", type=Duration(), help="No step is to be started later, such as 12h.")
@click.option(
    "--format",
    "template",
    metavar="TEMPLATE",
    help="Also write plan.sh, one command per step, such as 'mv-task {object} {source} {destination}'.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@common
def command(
    scenario: str,
    output: str,
    result: str | None,
    time_limit: float | None,
    expires: float | None,
    template: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Order the moves of SCENARIO's solution into waves, prove them safe by replay, and write the plan.

    Nothing is carried out. Exit code 3 if some move is blocked or some constraint stays broken. Ctrl-C ends the
    search with the best assignment so far, and otherwise gives up.
    """
    stop, answered, start_of_command = threading.Event(), threading.Event(), began()
    with ExitStack() as stack:
        stack.enter_context(kept_answers(stop, answered=answered))

        from rebalancer.plan import plan_moves
        from rebalancer.plan.formats import check_template, digests, plan_files
        from rebalancer.report.numbers import count
        from rebalancer.report.progress import reporter
        from rebalancer.scenario.plan_section import with_fields
        from rebalancer.solution import number_of_moves
        from rebalancer.solver import Rebalancer

        read = read_scenario(scenario)
        if template is not None:
            check_template(template)
        table = None
        if result is not None:
            table = AssignmentFile(str(Path(result) / "assignment.csv"), read.problem)
        folder = stack.enter_context(OutputFolder(output))
        solver = Rebalancer.from_scenario(read)
        show = stack.enter_context(reporter(quiet))
        with nullcontext() if table is None else table.located():
            solution = (
                solver.solve(
                    time_limit=time_limit, began=start_of_command, on_progress=noting(answered, show), stop=stop
                )
                if table is None
                else solver.evaluate(table.frame)
            )
        answered.clear()  # half a plan is none
        code = Exit.BROKEN if solution.broken else Exit.DONE
        if table is None:
            code = exits.of_solution(solution)  # type: ignore[arg-type]
            if code not in (Exit.DONE, Exit.BROKEN):
                print(f"error[no-solution]: {solution.reason}", file=sys.stderr)  # type: ignore[attr-defined]
                if as_json:
                    faults.print_json(solution.to_json())
                return code
        options = read.plan if expires is None else with_fields(read.plan, {"expires": expires})
        show.stage(f"ordering {count(number_of_moves(solution), 'move')}, and the way back")
        plan = plan_moves(solution, options)
        inputs = {**digests(read.files), **read.queries}
        files = plan_files(plan, inputs, template)
        folder.write(files)
    if as_json:
        faults.print_json(plan.to_json(inputs))
    else:
        _show(plan, output, list(files))
    return Exit.BROKEN if plan.blocked else code


def _show(plan: Plan, output: str, written: list[str]) -> None:
    from rebalancer.report.numbers import count, listed

    how = "as few as there can be" if plan.exact else f"at least {plan.lower_bound}"
    size = f"{count(len(plan.steps), 'step')} in {count(plan.waves, 'wave')}"
    click.echo(f"{plan.status}: {size} ({how}), verified, with the way back")
    if plan.staged:
        click.echo(f"{count(len(plan.staged), 'step')} only to make room")
    if plan.expires is not None:
        click.echo(f"expires at {plan.expires.isoformat(timespec='seconds')}")
    if broken := plan.broken:
        click.echo(f"still broken: {listed(broken)}")
    for one in plan.blocked[:20]:
        click.echo(f"blocked: {one.object} from {one.source} to {one.destination}: {'; '.join(one.reasons)}")
    if len(plan.blocked) > 20:
        click.echo(f"… and {len(plan.blocked) - 20} more are blocked")
    if plan.blocked:
        click.echo(plan.about_blocked)
    if plan.beyond_caps:
        waves = len({wave for wave, _ in plan.beyond_caps})
        click.echo(f"way back: {waves} of {plan.rollback.waves} waves exceed a cap; see {output}/plan.md")
    click.echo(f"{', '.join(written[:-1])} and {written[-1]} are in {output}")
