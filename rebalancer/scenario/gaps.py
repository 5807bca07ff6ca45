"""What could not be read of a scenario, so that nobody complains about names that would have been there."""

from __future__ import annotations

from rebalancer.problem import Fault, Path
from rebalancer.scenario.settle import MISSING


class Gaps:
    """Names that are declared, and kinds of names of which some were lost.

    A kind is what `unknown_name` calls the thing: ``scope``, ``dimension``, ``partition``, the name of the objects or
    of the containers, and for scope items and groups the name of their scope or partition.

    Parameters
    ----------
    object_name, container_name : str
    """

    def __init__(self, object_name: str, container_name: str) -> None:
        self.object_name = object_name
        self.container_name = container_name
        self._declared: dict[str, set[str]] = {}
        self._open: set[str] = set()

    def declare(self, kind: str, name: str) -> None:
        """Note that a name is stated, whether or not what it names can be built."""
        self._declared.setdefault(kind, set()).add(name)

    def declared(self, kind: str) -> set[str]:
        """Return the names of a kind that are stated."""
        return self._declared.get(kind, set())

    def open(self, *kinds: str) -> None:
        """Note that names of some kinds were lost."""
        self._open.update(kinds)

    def is_open(self, kind: str) -> bool:
        """Return whether names of a kind were lost."""
        return kind in self._open

    def lost_below(self, path: Path) -> None:
        """Note that something was lost at a path of the scenario file."""
        section, name = path[0] if path else "", path[1] if len(path) > 1 else None
        if section in ("object", "container"):
            self.open(self.object_name, self.container_name, "scope", "dimension")
        elif section == "tables":
            self._lost_of_table(path[2:])
        elif section in ("assignment", "unassigned"):
            self.open(self.object_name, self.container_name)
        elif section in ("scopes", "partitions"):
            kind = str(section)[:-1]
            if name is None:
                self.open(kind)
            else:
                self.declare(kind, str(name))
                self.open(str(name))
        elif section == "dimensions":
            if name is None:
                self.open("dimension")
            else:
                self.declare("dimension", str(name))
        elif section == "attributes":
            self.open("scope", "partition")

    def _lost_of_table(self, path: Path) -> None:
        field = next((step for step in path if isinstance(step, str)), "")
        if field == "dimensions":
            self.open("dimension")
        elif field in ("partitions", "scopes"):
            self.open(field[:-1])
        elif field == "attributes":
            self.open("scope", "partition")
        else:
            self.open(self.object_name, self.container_name, "scope", "partition", "dimension")

    def hides(self, fault: Fault) -> bool:
        """Return whether a fault only follows from another."""
        if isinstance(fault.value, str) and fault.value.startswith(MISSING):
            return True
        if fault.code != "unknown-name" or fault.kind is None:
            return False
        return fault.kind in self._open or fault.value in self.declared(fault.kind)
