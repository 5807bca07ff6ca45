"""balance: spread a dimension evenly over scope items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rebalancer.model import Param
from rebalancer.model.param import fraction_sum
from rebalancer.problem import Fault
from rebalancer.problem.numbers import IntArray
from rebalancer.specs.base import Definition, Spec
from rebalancer.specs.checks import vector_faults, zero_capacity_warnings
from rebalancer.specs.fields import DimensionName, Flag, ItemFilter, ItemName, Name, Number, Ref, ScopeName, exact
from rebalancer.specs.limits import kept_items, mean

if TYPE_CHECKING:
    from rebalancer.model import Cells, ModelBuilder
    from rebalancer.problem import Problem

#: Weight of the sum in LEGACY, which only breaks ties of the largest.
TIE = Fraction(1, 1000)


class BoundType(str, Enum):
    """What the upper bound is measured from."""

    ABSOLUTE = "ABSOLUTE"
    RELATIVE = "RELATIVE"
    RELATIVE_UTIL = "RELATIVE_UTIL"


class BalanceFormula(str, Enum):
    """How utilizations above the threshold add up."""

    LINEAR = "LINEAR"
    SQUARES = "SQUARES"
    MAX = "MAX"
    IDEAL = "IDEAL"
    LEGACY = "LEGACY"
    RELATIVE_UTIL_VARIANCE = "RELATIVE_UTIL_VARIANCE"


class BalanceMetric(str, Enum):
    """What is balanced."""

    RELATIVE_UTIL = "RELATIVE_UTIL"
    CAPACITY_PER_ITEM = "CAPACITY_PER_ITEM"


class BalanceSpec(Spec):
    """Spread a dimension evenly over scope items, relative to what each offers.

    Notes
    -----
    Items that the filter drops, and items whose capacity is 0, do not take part; ``n`` others do. With nothing left
    the goal is 0. With ``U`` the amount that counts in an item and ``c`` its capacity, the utilization is ``u =
    U/c``.

    *Average*: the mean of ``u``, or ``ΣU/Σc`` with use_legacy_average. It is a constant, taken from the initial
    assignment, if fix_average_to_initial asks for it, or if the total cannot change: the definition is AFTER, all
    items take part, every container lies in one of them, and no object starts unplaced. In all other cases it moves
    with the assignment. (With unequal capacities the mean of ``u`` can change even where it is kept constant;
    Rebalancer does the same.)

    *Bound* ``B``: ABSOLUTE ``average + upper_bound``, RELATIVE ``average · upper_bound``, RELATIVE_UTIL
    ``upper_bound``. *Threshold* ``T = max(soft_upper_bound, B)``.

    - LINEAR ``Σ max(0, u − T) / n``; SQUARES ``Σ max(0, u² − T²) / n``, where negative numbers count as 0; MAX
      ``max(0, max u − T)``;
    - IDEAL ``Σ u² · c/A`` with ``A`` the mean of ``c``; with bound_type RELATIVE_UTIL, or without
      ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types, ``Σ max(0, u² − B²) · c/A``;
    - RELATIVE_UTIL_VARIANCE ``Σ v² − (Σ v)²/n`` with ``v = max(0, u − B)``;
    - LEGACY ``max(0, max z) + 0.001/n · Σ max(0, z)`` with ``z = u/average − upper_bound`` and the average ``ΣU/Σc``
      of the start; where that is 0 the goal is the constant ``−upper_bound``.

    With balance_metric CAPACITY_PER_ITEM, ``u = U / max(1, number of objects)``: what the objects of an item use on
    average. Capacities then do not matter, and the average is the mean of ``u``, never a constant.

    Unplaced objects count in no item. While some objects start unplaced, the average grows as they are placed.
    """

    key: ClassVar[str] = "balance"

    scope: ScopeName = Field(description="Scope whose items are balanced.")
    dimension: DimensionName = Field(description="What is balanced.")
    upper_bound: Number = Field(1, description="How much is fine; see bound_type.")
    soft_upper_bound: Number | None = Field(None, description="Utilization that is fine in any case.")
    bound_type: BoundType = Field(
        BoundType.RELATIVE,
        description="ABSOLUTE: average + upper_bound; RELATIVE: average · upper_bound; RELATIVE_UTIL: just it.",
    )
    formula: BalanceFormula = Field(BalanceFormula.LINEAR, description="How utilizations above the threshold add up.")
    filter: ItemFilter = Field(None, description="Which scope items.")
    definition: Literal[Definition.AFTER, Definition.DURING, Definition.NEW, Definition.OLD] = Field(
        Definition.AFTER, description="Which objects count."
    )
    fix_average_to_initial: Flag = Field(False, description="Keep the average of the initial assignment.")
    include_in_initial_average: tuple[ItemName, ...] = Field(
        (), description="Filtered items that take part in a constant average."
    )
    use_legacy_average: Flag = Field(
        False, description="Average: total amount over total capacity, instead of the mean utilization."
    )
    ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types: Flag = Field(
        True, description="IDEAL uses the bound only with RELATIVE_UTIL; set to false to use it always."
    )
    balance_metric: BalanceMetric = Field(
        BalanceMetric.RELATIVE_UTIL,
        description="RELATIVE_UTIL: amounts relative to capacity; CAPACITY_PER_ITEM: to how many objects there are.",
    )
    capacity_per_item_count_dimension: Annotated[Name | None, Ref("dimension")] = Field(
        None, description="With CAPACITY_PER_ITEM: what counts the objects; left out: 1 each; no vectors."
    )

    def goal(self, model: ModelBuilder) -> Cells:
        problem = model.problem
        offered = problem.capacity(self.dimension, self.scope).exact
        if self._per_item:
            offered = (Fraction(1),) * len(offered)
        kept = [item for item in kept_items(problem.scopes[self.scope].items, self.filter).tolist() if offered[item]]
        if not kept:
            return model.linear([])
        items = np.array(kept, np.int64)
        amount = model.amount(self.scope, self.dimension, self.definition.value, items=items)
        if self._per_item:
            count = model.amount(
                self.scope, self.capacity_per_item_count_dimension or "", self.definition.value, items=items
            )
            beyond_one = model.hinge(model.linear([(count, 1)], -1))
            amount = model.ratio(amount, model.linear([(beyond_one, 1)], 1))
        utilization = _Utilization(model, amount, tuple(offered[item] for item in kept))
        if self.formula is BalanceFormula.LEGACY:
            return self._legacy(utilization)
        bound = self._bound(utilization, self._average(utilization, items, offered))
        if self.formula is BalanceFormula.IDEAL:
            return self._ideal(utilization, bound)
        utilization = utilization.beside(bound, self.formula is BalanceFormula.SQUARES)
        if self.formula is BalanceFormula.RELATIVE_UTIL_VARIANCE:
            return model.spread(utilization.relative(utilization.above(bound)))
        threshold = self._softened(model, bound)
        if self.formula is BalanceFormula.MAX:
            return utilization.largest_above(threshold)
        if self.formula is BalanceFormula.SQUARES:
            return utilization.squares_above(
                threshold, [Fraction(1, len(kept)) / capacity**2 for capacity in utilization.capacity]
            )
        return model.total(utilization.above(threshold), utilization.per(Fraction(1, len(kept))))

    # -- the parts ----------------------------------------------------------------------------------------------------

    @property
    def _per_item(self) -> bool:
        """Whether amounts are relative to counts instead of capacities."""
        return self.balance_metric is BalanceMetric.CAPACITY_PER_ITEM

    def _average(self, utilization: _Utilization, kept: IntArray, offered: Sequence[Fraction]) -> Fraction | Cells:
        """Return the average utilization: a number where it is constant, else a cell."""
        if self._per_item:
            return utilization.average(False)
        problem = utilization.model.problem
        scope = problem.scopes[self.scope]
        settled = (
            self.definition is Definition.AFTER
            and len(kept) == len(scope.items)
            and scope.covers_all
            and not problem.has_unplaced
        )
        if not (self.fix_average_to_initial or settled):
            return utilization.average(self.use_legacy_average)
        more = [item for item in scope.items.lookup(list(self.include_in_initial_average)).tolist() if offered[item]]
        if more:
            kept = np.union1d(kept, more)
            amount = utilization.model.amount(self.scope, self.dimension, self.definition.value, items=kept)
            utilization = _Utilization(utilization.model, amount, tuple(offered[item] for item in kept.tolist()))
        return utilization.initial_average(self.use_legacy_average)

    def _bound(self, utilization: _Utilization, average: Fraction | Cells) -> Fraction | Cells:
        upper = exact(self.upper_bound)
        if self.bound_type is BoundType.RELATIVE_UTIL:
            return upper
        absolute = self.bound_type is BoundType.ABSOLUTE
        if isinstance(average, Fraction):
            return average + upper if absolute else average * upper
        return utilization.model.linear([(average, 1 if absolute else upper)], upper if absolute else 0)

    def _softened(self, model: ModelBuilder, bound: Fraction | Cells) -> Fraction | Cells:
        """Return the threshold: the bound, or the soft upper bound where that is higher."""
        if self.soft_upper_bound is None:
            return bound
        soft = exact(self.soft_upper_bound)
        if isinstance(bound, Fraction):
            return max(soft, bound)
        return model.linear([(bound, 1), (model.hinge(model.linear([(bound, -1)], soft)), 1)])

    def _ideal(self, utilization: _Utilization, bound: Fraction | Cells) -> Cells:
        model = utilization.model
        size = mean(utilization.capacity)
        if (
            self.bound_type is BoundType.RELATIVE_UTIL
            or not self.ignore_upper_bound_for_ideal_with_abs_or_rel_bound_types
        ):
            shares = utilization.beside(bound, True)
            both = zip(utilization.capacity, shares.capacity, strict=True)
            return shares.squares_above(bound, [capacity / (size * own**2) for capacity, own in both], signed=True)
        per = [1 / (capacity * size) for capacity in utilization.capacity]  # u² · c/A = U² / (c · A)
        return model.total(model.square(utilization.amount), Param.of(per))

    def _legacy(self, utilization: _Utilization) -> Cells:
        model, upper = utilization.model, exact(self.upper_bound)
        average = utilization.initial_average(legacy=True)
        if not average:
            return model.linear([], -upper)
        excess = utilization.above(average * upper, turned=average < 0)
        tie = utilization.per(TIE / len(utilization.capacity) / abs(average))
        return model.linear(
            [(model.largest(utilization.relative(excess)), 1 / abs(average)), (model.total(excess, tie), 1)]
        )

    # -- faults -------------------------------------------------------------------------------------------------------

    def faults(self, problem: Problem) -> Iterator[Fault]:
        yield from super().faults(problem)
        if self._per_item:
            yield from self._per_item_faults(problem)
        elif self.capacity_per_item_count_dimension is not None:
            field = "capacity_per_item_count_dimension"
            message = f"'{field}' needs 'balance_metric: {BalanceMetric.CAPACITY_PER_ITEM.value}'"
            yield Fault("unsupported-field", message, (field,), self.capacity_per_item_count_dimension)
        if self.formula is BalanceFormula.LEGACY:
            yield from self._legacy_faults()

    def _per_item_faults(self, problem: Problem) -> Iterator[Fault]:
        if self.formula in (BalanceFormula.IDEAL, BalanceFormula.LEGACY):
            message = f"the metric {self.balance_metric.value} does not go with the formula {self.formula.value}"
            yield Fault("unsupported-field", message, ("formula",), self.formula.value, BalanceFormula.LINEAR.value)
        counted = self.capacity_per_item_count_dimension
        if counted is not None and counted in problem.dimension_names():
            yield from vector_faults(problem, self.key, "capacity_per_item_count_dimension", counted)

    def _legacy_faults(self) -> Iterator[Fault]:
        needed = {
            "bound_type": BoundType.RELATIVE.value,
            "definition": Definition.AFTER.value,
            "fix_average_to_initial": True,
        }
        for field, value in needed.items():
            given = getattr(self, field)
            seen = given.value if isinstance(given, Enum) else given
            if seen != value:
                shown = [str(entry).lower() if isinstance(entry, bool) else entry for entry in (value, seen)]
                yield Fault(
                    "unsupported-field",
                    f"the formula LEGACY needs '{field}: {shown[0]}', got {shown[1]}",
                    (field,),
                    seen,
                    str(shown[0]),
                )
        for field in ("soft_upper_bound", "include_in_initial_average"):
            if getattr(self, field) not in (None, ()):
                yield Fault(
                    "unsupported-field", f"the formula LEGACY does not honour '{field}'", (field,), getattr(self, field)
                )

    def warnings(self, problem: Problem) -> Iterator[Fault]:
        yield from super().warnings(problem)
        if self._per_item:
            for field in ("fix_average_to_initial", "include_in_initial_average", "use_legacy_average"):
                if getattr(self, field):
                    message = f"'{field}' has no effect with the metric {self.balance_metric.value}: the average moves"
                    yield Fault("no-effect", message, (field,), getattr(self, field))
        else:
            yield from zero_capacity_warnings(problem, self.scope, self.dimension, self.filter, "balance leaves it out")
        ignored = (BalanceFormula.IDEAL, BalanceFormula.RELATIVE_UTIL_VARIANCE)
        if self.soft_upper_bound is not None and self.formula in ignored:
            message = f"'soft_upper_bound' has no effect with the formula {self.formula.value}"
            yield Fault("no-effect", message, ("soft_upper_bound",), self.soft_upper_bound)


#: How many times all amounts a moving threshold may be in amounts, where these cannot be exact beside it.
_FAR = 2**10


@dataclass(frozen=True, eq=False)
class _Utilization:
    """Amounts of the items that take part, and their capacities; formulas in amounts, so that comparisons stay exact.

    Parameters
    ----------
    amount : Cells
        Shape (1, n).
    capacity : tuple of Fraction
        One per item, positive.
    """

    model: ModelBuilder
    amount: Cells
    capacity: tuple[Fraction, ...]

    def per(self, factor: Fraction) -> Param:
        """Return ``factor / capacity`` of each item."""
        return Param.of([factor / capacity for capacity in self.capacity])

    def times(self, factor: Fraction) -> Param:
        """Return ``factor · capacity`` of each item."""
        return Param.of([factor * capacity for capacity in self.capacity])

    def relative(self, amount: Cells) -> Cells:
        """Return an amount of each item relative to its capacity."""
        return self.model.linear([(amount, self.per(Fraction(1)))])

    def beside(self, threshold: Fraction | Cells, squared: bool) -> _Utilization:
        """Return what is compared with a threshold: amounts, which is exact, or where these fail shares of one each.

        A threshold that moves, times the largest of very different capacities, is far above all amounts: in integers
        with room for that, these would be nothing.
        """
        if isinstance(threshold, Fraction):
            return self
        most = threshold.unit * threshold.largest * max(self.capacity)
        far = most > _FAR * self.amount.unit * self.amount.largest
        if not far or not (squared or self._over(threshold).error):
            return self
        return _Utilization(self.model, self.relative(self.amount), (Fraction(1),) * len(self.capacity))

    def _over(self, threshold: Cells, sign: Fraction = Fraction(1)) -> Cells:
        return self.model.linear([(self.amount, sign), (threshold, self.times(-sign))])

    def above(self, threshold: Fraction | Cells, *, turned: bool = False) -> Cells:
        """Return how far each amount is above the threshold (if turned: below), a utilization: ``max(0, U − T·c)``."""
        model, sign = self.model, Fraction(-1 if turned else 1)
        if isinstance(threshold, Fraction):
            return model.excess([(self.amount, sign)], self.times(-sign * threshold))
        return model.hinge(self._over(threshold, sign))

    def largest_above(self, threshold: Fraction | Cells) -> Cells:
        """Return how far the largest utilization is above the threshold: ``max(0, max U/c − T)``.

        A threshold that moves is subtracted once, from the largest, not from each.
        """
        if isinstance(threshold, Fraction):
            return self.model.largest(self.relative(self.above(threshold)))
        largest = self.model.largest(self.relative(self.amount))
        return self.model.hinge(self.model.linear([(largest, 1), (threshold, -1)]))

    def squares_above(self, threshold: Fraction | Cells, weight: Sequence[Fraction], *, signed: bool = False) -> Cells:
        """Return ``Σ weight · max(0, U² − (T·c)²)``; unless ``signed``, negative numbers count as 0.

        Where neither is negative the square is ``h² + 2·T·c·h`` with ``h = max(0, U − T·c)``: exactly 0 up to the
        threshold, and convex.
        """
        model = self.model
        if isinstance(threshold, Fraction) and (not signed or (threshold >= 0 and self.amount.low >= 0)):
            floor = max(Fraction(0), threshold)
            excess = self.above(floor)
            slope = [2 * floor * capacity * factor for capacity, factor in zip(self.capacity, weight, strict=True)]
            parts = [
                (model.total(model.square(excess), Param.of(weight)), 1),
                (model.total(excess, Param.of(slope)), 1),
            ]
            return model.linear(parts[:1] if not floor else parts)
        amount = self.amount if signed else model.hinge(self.amount)
        if isinstance(threshold, Fraction):
            least = Param.of([-((threshold * capacity) ** 2) for capacity in self.capacity])
            return model.total(model.excess([(model.square(amount), 1)], least), Param.of(weight))
        level = threshold if signed else model.hinge(threshold)
        squared = Param.of([-(capacity**2) for capacity in self.capacity])
        excess = model.hinge(model.linear([(model.square(amount), 1), (model.square(level), squared)]))
        return model.total(excess, Param.of(weight))

    def average(self, legacy: bool) -> Cells:
        """Return the average utilization at the assignment: shape (1, 1)."""
        if legacy:
            return self.model.total(self.amount, 1 / sum(self.capacity, Fraction(0)))
        return self.model.total(self.amount, self.per(Fraction(1, len(self.capacity))))

    def initial_average(self, legacy: bool) -> Fraction:
        """Return the average utilization at the start."""
        amounts = [self.amount.unit * value for value in np.ravel(self.model.initial(self.amount).dense()).tolist()]
        if legacy:
            return sum(amounts, Fraction(0)) / sum(self.capacity, Fraction(0))
        return mean_of([amount / capacity for amount, capacity in zip(amounts, self.capacity, strict=True)])


def mean_of(values: list[Fraction]) -> Fraction:
    """Return the mean, 0 of nothing."""
    return fraction_sum(values) / max(1, len(values))
