"""Move plans: waves that are safe at every moment, their verification by replay, and the way back."""

from rebalancer.plan.make import Draft, draft, draft_moves, make_plan, plan_moves
from rebalancer.plan.plan import Plan
from rebalancer.plan.verify import Replay, replay
from rebalancer.scenario.plan_section import Cap, PlanOptions

__all__ = ["Cap", "Draft", "Plan", "PlanOptions", "Replay", "draft", "draft_moves", "make_plan", "plan_moves", "replay"]
