"""A recount of small plans from first principles: plain Python over names, and nothing of the package."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalancer import CapacitySpec, GroupCountSpec, Rebalancer
from rebalancer.plan import Cap, PlanOptions


@dataclass
class World:
    """Hosts with memory, tasks in jobs, at most and at least so many of a job on a host."""

    size: dict[str, int]
    job: dict[str, str]
    room: dict[str, int]
    rack: dict[str, str]
    rack_room: int
    most: int
    least: int
    start: dict[str, str]
    end: dict[str, str] = field(default_factory=dict)
    caps: dict[str, int] = field(default_factory=dict)

    def solver(self) -> Rebalancer:
        solver = Rebalancer("task", "host")
        contents: dict[str, list[str]] = {host: [] for host in self.room}
        for task, host in self.start.items():
            contents[host].append(task)
        solver.set_assignment(contents)
        solver.add_object_dimension("memory", self.size)
        solver.add_container_dimension("memory", self.room)
        racks = sorted(set(self.rack.values()))
        solver.add_scope("rack", {rack: [h for h, r in self.rack.items() if r == rack] for rack in racks})
        solver.add_scope_dimension("memory", "rack", dict.fromkeys(racks, self.rack_room))
        jobs = sorted(set(self.job.values()))
        solver.add_partition("job", {job: [t for t, j in self.job.items() if j == job] for job in jobs})
        solver.add_constraint(CapacitySpec(scope="host", dimension="memory"), name="host-memory")
        solver.add_constraint(CapacitySpec(scope="rack", dimension="memory"), name="rack-memory")
        most: dict[str, Any] = {"type": "ABSOLUTE", "global_limit": self.most}
        least: dict[str, Any] = {"type": "ABSOLUTE", "global_limit": self.least}
        solver.add_constraint(GroupCountSpec(scope="host", partition="job", limit=most), name="most")
        solver.add_constraint(GroupCountSpec(scope="rack", partition="job", limit=least, bound="MIN"), name="least")
        return solver

    def options(self, **others: Any) -> PlanOptions:
        caps: dict[str, Any] = dict(self.caps)
        if "job" in caps:
            caps["max_per_group"] = {"job": Cap(default=caps.pop("job"))}
        if "rack" in caps:
            caps["max_per_scope_item"] = {"rack": Cap(default=caps.pop("rack"))}
        if "memory" in caps:
            caps["max_amount"] = {"memory": caps.pop("memory")}
        for name in ("max_in_per_container", "max_out_per_container"):
            if name in caps:
                caps[name] = Cap(default=caps[name])
        return PlanOptions(**caps, **others)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def levels(self, at: dict[str, str], flying: dict[str, str]) -> dict[tuple[str, ...], int]:
        """How far every rule is from holding (above 0: broken), with some tasks on their way."""
        out: Counter[tuple[str, ...]] = Counter()
        for host, room in self.room.items():
            here = [t for t in at if at[t] == host or flying.get(t) == host]
            out["host", host] = sum(self.size[t] for t in here) - room
            for job in set(self.job.values()):
                out["most", host, job] = sum(self.job[t] == job for t in here) - self.most
        for rack in set(self.rack.values()):
            here = [t for t in at if self.rack[at[t]] == rack or (t in flying and self.rack[flying[t]] == rack)]
            out["rack", rack] = sum(self.size[t] for t in here) - self.rack_room
            for job in set(self.job.values()):
                still = [t for t in at if t not in flying and self.rack[at[t]] == rack and self.job[t] == job]
                out["least", rack, job] = self.least - len(still)
        return dict(out)

    def faults(
        self,
        at: dict[str, str],
        flying: dict[str, str],
        way_back: bool = False,
        known: Sequence[dict[str, str]] | None = None,
    ) -> list[str]:
        """Which rules and caps some tasks on their way break; as bad as at start and end (or ``known``) they may be."""
        ends = [self.levels(place, {}) for place in known or (self.start, self.end)]
        found = [
            str(rule) for rule, level in self.levels(at, flying).items() if level > max(0, *(end[rule] for end in ends))
        ]
        moving = list(flying)
        into, out_of = Counter(flying.values()), Counter(at[t] for t in moving)
        if way_back:
            into, out_of = out_of, into
        touched = Counter(rack for t in moving for rack in {self.rack[at[t]], self.rack[flying[t]]})
        counted = {
            "max_in_flight": len(moving),
            "max_in_per_container": max(into.values(), default=0),
            "max_out_per_container": max(out_of.values(), default=0),
            "rack": max(touched.values(), default=0),
            "job": max(Counter(self.job[t] for t in moving).values(), default=0),
            "memory": sum(self.size[t] for t in moving),
        }
        return found + [name for name, cap in self.caps.items() if counted[name] > cap]

    def follow(
        self,
        at: dict[str, str],
        rows: Iterable[dict[str, Any]],
        way_back: bool = False,
        known: Sequence[dict[str, str]] | None = None,
    ) -> dict[str, str]:
        """Carry out steps wave by wave, with every rule checked in flight and after; return where everything is."""
        now = dict(at)
        for _, wave in itertools.groupby(rows, key=lambda row: row["wave"]):
            steps = list(wave)
            flying = {}
            for row in steps:
                assert now[row["object"]] == row["source"], row
                assert row["object"] not in flying, row
                flying[row["object"]] = row["destination"]
            assert not self.faults(now, flying, way_back, known), (steps, self.faults(now, flying, way_back, known))
            now.update(flying)
            assert not self.faults(now, {}, way_back, known)
        return now

    def follow_after(
        self,
        rows: Sequence[dict[str, Any]],
        rng: random.Random,
        at: dict[str, str] | None = None,
        known: Sequence[dict[str, str]] | None = None,
        stop: int | None = None,
    ) -> tuple[dict[str, str], set[str]]:
        """Start and finish steps in a random order that ``after`` allows; rules are checked all along.

        Ends when ``stop`` steps have started and arrived, or all; returns where everything is, and what was done.
        """
        now, flying, done = dict(at or self.start), dict[str, dict[str, Any]](), set[str]()
        waiting = list(rows)
        started = 0
        while (waiting and started != stop) or flying:
            ready = [row for row in waiting if set(row["after"]) <= done and row["object"] not in flying]
            if ready and started != stop and (not flying or rng.random() < 0.7):
                row = rng.choice(ready)
                started += 1
                waiting.remove(row)
                flying[row["object"]] = row
            else:
                task = rng.choice(sorted(flying))
                row = flying.pop(task)
                now[task] = row["destination"]
                done.add(row["id"])
            on_the_way = {task: row["destination"] for task, row in flying.items()}
            assert not self.faults(now, on_the_way, known=known), (row, self.faults(now, on_the_way, known=known))
        return now, done

    def fewest(self, most: int) -> int | None:
        """The fewest waves that carry out all moves directly, by trying everything; None: more than ``most``."""
        tasks = [t for t in self.start if self.start[t] != self.end[t]]
        for waves in range(most + 1):
            for chosen in itertools.product(range(waves), repeat=len(tasks)):
                now, good = dict(self.start), True
                for wave in range(waves):
                    flying = {t: self.end[t] for t, own in zip(tasks, chosen, strict=True) if own == wave}
                    good = not self.faults(now, flying)
                    now.update(flying)
                    if not good:
                        break
                if good and now == self.end:
                    return waves
        return None


def random_world(seed: int, tasks: int, hosts: int) -> World:
    """A world whose end breaks nothing that the start does not break as much."""
    rng = random.Random(seed)
    names = [f"t{at}" for at in range(tasks)]
    host_names = [f"h{at}" for at in range(hosts)]
    size = {name: rng.choice([1, 1, 2, 3]) for name in names}
    job = {name: rng.choice(["a", "b"]) for name in names}
    rack = {host: f"r{at % 2}" for at, host in enumerate(host_names)}
    start = {name: rng.choice(host_names) for name in names}
    load = Counter(dict.fromkeys(host_names, 0))
    for name, host in start.items():
        load[host] += size[name]
    room = {host: max(1, load[host] + rng.choice([-1, 0, 0, 1, 1, 2, 3])) for host in host_names}
    caps = {}
    for name, least in (("max_in_flight", 2), ("max_in_per_container", 1), ("max_out_per_container", 1), ("job", 1),
                        ("rack", 1), ("memory", 3)):  # fmt: skip
        if rng.random() < 0.2:
            caps[name] = rng.randint(least, least + 1)
    world = World(
        size, job, room, rack, rng.randint(3, 2 * tasks), rng.randint(1, 3), rng.randint(0, 1), start, caps=caps
    )
    before = world.levels(start, {})
    for _ in range(200):
        end = {name: rng.choice([start[name], rng.choice(host_names)]) for name in names}
        if all(level <= max(0, before[rule]) for rule, level in world.levels(end, {}).items()):
            world.end = end
            if end != start:
                return world
    world.end = dict(start)
    return world


def busy_world(seed: int) -> World:
    """A world in which most tasks move, and hosts have little more room than start and end ask for."""
    rng = random.Random(seed)
    names, hosts = [f"t{at}" for at in range(rng.randint(6, 10))], [f"h{at}" for at in range(rng.randint(3, 5))]
    size = {name: rng.choice([1, 1, 2, 3]) for name in names}
    job = {name: rng.choice(["a", "b", "c"]) for name in names}
    rack = {host: f"r{at % 2}" for at, host in enumerate(hosts)}
    start = {name: rng.choice(hosts) for name in names}
    end = {name: rng.choice([start[name], *hosts]) for name in names}
    loads = [Counter(dict.fromkeys(hosts, 0)) for _ in range(2)]
    for load, place in zip(loads, (start, end), strict=True):
        for name in names:
            load[place[name]] += size[name]
    room = {host: max(1, *(load[host] for load in loads)) + rng.choice([0, 1, 1, 2]) for host in hosts}
    rack_room = max(sum(room[host] for host in hosts if rack[host] == one) for one in set(rack.values()))
    most = max(Counter((place[name], job[name]) for name in names).most_common(1)[0][1] for place in (start, end))
    caps = {"max_in_flight": rng.randint(2, 4)} if rng.random() < 0.5 else {}
    return World(size, job, room, rack, rack_room - rng.randint(0, 2), most, 0, start, end, caps)
