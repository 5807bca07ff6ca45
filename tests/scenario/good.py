"""A scenario that uses everything, as the start of mutations."""

from __future__ import annotations

from pathlib import Path

SCENARIO = """\
object: task
container: host
assignment:
  host0: [task0, task1, task2]
  host1:
    - task3
  host2: []
unassigned:
  - task4
  - {name: web, count: 3, dimensions: {memory: 4}, partitions: {job: batch}, attributes: {app: shop}}
dimensions:
  memory:
    task: {default: 10, task1: 12}
    host:
      default: 1
      values: {host0: 64, host1: 64}
    rack: {rack0: 128, rack1: 64}
  net:
    dynamic:
      scope: rack
      default: 0
      values: {rack0: {task0: 2}}
  vec:
    task: {default: 0, task0: [4, 4], task1: [8, 0]}
scopes:
  rack:
    rack0: [host0, host1]
    rack1: [host2]
partitions:
  job:
    front: [task0, task1]
    batch: [task2, task3]
attributes:
  host:
    host0: {zone: a, cores: 4}
    host1: {zone: b, cores: 8}
resolution: {net: 0.01}
policy: DEFAULT
constraints:
  - capacity: {scope: host, dimension: memory, definition: DURING_AND_AFTER}
    name: memory-fits
    policy: HARD
    invalid_cost: 50
    invalid_state: 500
    tuple_pos_if_broken: 0
  - capacity:
      scope: rack
      dimension: memory
      bound: MIN
      zero_allowed: true
      limit: {type: ABSOLUTE, global_limit: 0, scope_item_limits: {rack0: 1}}
      filter: {items_whitelist: [rack0]}
  - group_count:
      scope: rack
      partition: job
      bound: MAX
      limit:
        global_limit: 2
        group_limits: {front: 3}
        scope_item_to_group_limits: {rack1: {batch: 4}}
  - avoid_assignments:
      scope: host
      assignments:
        - {object: task0, scope_items: [host1, host2]}
  - to_free: {containers: [host2]}
    policy: SOFT
goals:
  - balance: {scope: host, dimension: memory, formula: SQUARES, upper_bound: 1.1}
    name: even
    weight: 2.5
    tuple_pos: 0
  - minimize_movement: {scope: host, dimension: task_count, do_not_normalize: true}
    tuple_pos: 1
solve: {engine: auto, time_limit: 1m30s, gap: 0.01, seed: 7, workers: 2, deterministic: false}
plan: {max_in_flight: 5}
"""


def write(folder: Path, text: str = SCENARIO) -> Path:
    """Write a scenario file and return its path."""
    path = folder / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return path
