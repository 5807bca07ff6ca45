"""Tables of parameters and pages, made from classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import AliasChoices, BaseModel, Field
from pydantic.alias_generators import to_camel, to_snake

from rebalancer import CapacitySpec
from rebalancer.specs import (
    PARTITION_ALIASES,
    Definition,
    DimensionOrCount,
    Flag,
    GroupName,
    ItemFilter,
    ItemName,
    Limit,
    Number,
    ObjectName,
    Part,
    PartitionName,
    ScopeName,
    Spec,
    Whole,
    limit_field,
    pages,
    parameters,
    registry,
)


class Way(str, Enum):
    UP = "UP"
    DOWN = "DOWN"


class Wish(Part):
    object_name: ObjectName = Field(description="The object.")
    worth: Number = Field(1, description="How much")


class ExampleSpec(Spec):
    """Show every type, ``even`` this.

    Notes
    -----
    Goal: ``Σ x``.

    References
    ----------
    None.
    """

    key: ClassVar[str] = "example"

    scope: ScopeName = Field(description="Where.")
    partition_name: PartitionName = Field(description="The groups.", validation_alias=PARTITION_ALIASES)
    dimension: DimensionOrCount = Field("", description="What; empty: count.")
    definition: Literal[Definition.AFTER, Definition.NEW] = Field(Definition.AFTER, description="Which.")
    way: Way = Field(Way.UP, description="UP | DOWN.")
    limit: Annotated[Limit, *limit_field("ABSOLUTE", 3, items=True, groups=True)] = Field(Limit(), description="Bound.")
    only: Annotated[Limit, *limit_field("RELATIVE", 1, unbounded=True, types=("RELATIVE",))] = Field(
        Limit(), description="Share."
    )
    filter: ItemFilter = Field(None, description="Which items.")
    flag: Flag = Field(False, description="Or not.")
    count: Whole = Field(2, description="How many.")
    share: Number | None = Field(None, description="How much.")
    table: Mapping[ItemName, Mapping[GroupName, Number]] = Field({}, description="By both.")
    sets: tuple[tuple[ItemName, ...], ...] = Field((), description="Together.")
    wishes: tuple[Wish, ...] = Field(description="Who wants what.")
    other: tuple[Spec, ...] = Field((), description="More.")


ROWS = """\
| `scope` | scope | required | Where. |
| `partition_name` | partition | required | The groups. `partition` is the same. |
| `dimension` | dimension | `""` | What; empty: count. |
| `definition` | `AFTER`, `NEW` | `AFTER` | Which. |
| `way` | `UP`, `DOWN` | `UP` | UP \\| DOWN. |
| `limit` | limit | `ABSOLUTE` 3 | Bound. Honours `scope_item_limits`, `group_limits`. |
| `only` | `RELATIVE` limit | unbounded | Share. |
| `filter` | filter of scope items | all | Which items. |
| `flag` | true or false | `false` | Or not. |
| `count` | whole number | 2 | How many. |
| `share` | number | none | How much. |
| `table` | scope item → group → number | none | By both. |
| `sets` | list of lists of scope items | none | Together. |
| `wishes` | list of mappings | required | Who wants what. |
| `wishes.object_name` | object | required | The object. |
| `wishes.worth` | number | 1 | How much. |
| `other` | list of specs | none | More. |
"""


def test_a_table_says_types_in_the_words_of_users() -> None:
    assert parameters.table(ExampleSpec) == parameters.HEAD + ROWS


def test_a_spec_without_parameters_has_no_table() -> None:
    assert parameters.table(Spec) == ""
    assert "## Parameters\n\nNone.\n" in pages.generated(Spec)


def test_a_page_is_generated_from_the_class() -> None:
    page = pages.generated(ExampleSpec)
    assert page.startswith("# example\n\nShow every type, `even` this.")
    assert page.endswith("## Notes\n\nGoal: `Σ x`.\n\n## References\n\nNone.\n")
    assert parameters.table(ExampleSpec) in page


def test_a_page_keeps_what_was_written_around_its_table() -> None:
    old = f"# capacity\n\n## Parameters\n\n{parameters.HEAD}| `old` | x | y | z |\n\nBy hand.\n\n| a | b |\n|---|---|\n"
    assert pages.refreshed(old, CapacitySpec) == old.replace(
        f"{parameters.HEAD}| `old` | x | y | z |\n", parameters.table(CapacitySpec)
    )


def test_pages_are_read_from_the_distribution_or_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pages.page("capacity").startswith("# capacity\n")
    (tmp_path / "capacity.md").write_text("# installed\n", encoding="utf-8")
    monkeypatch.setattr(pages, "_FOLDERS", (tmp_path, *pages._FOLDERS))
    assert pages.page("capacity") == "# installed\n"
    monkeypatch.setattr(pages, "_FOLDERS", ())
    assert pages.page("capacity") == pages.generated(registry.get("capacity"))
    with pytest.raises(KeyError):
        pages.page("no_such_spec")


@pytest.mark.parametrize("spelling", ["scope_item", "scopeItem", "scope_item_name", "scopeItemName"])
def test_other_names_are_read_in_both_spellings(spelling: str) -> None:
    entry = {"object": "a", spelling: "h0", "affinity": 1}
    (read,) = registry.get("assignment_affinities").model_validate({"affinities": [entry]}).affinities
    assert read.scope_item_name == "h0"


def test_every_other_name_of_every_field_has_both_spellings() -> None:
    seen = 0
    for model in below(BaseModel):
        for info in model.model_fields.values():
            if isinstance(info.validation_alias, AliasChoices):
                choices = {str(choice) for choice in info.validation_alias.choices}
                assert choices == {spelled(choice) for choice in choices for spelled in (to_camel, to_snake)}, model
                seen += 1
    assert seen > len(registry.keys()) / 3


def below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the project's classes below a model."""
    for inner in model.__subclasses__():
        if inner.__module__.startswith("rebalancer."):
            yield inner
        yield from below(inner)
