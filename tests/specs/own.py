"""The example of the guide, as the files that it would be, and as an installed distribution."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "your-own-spec.md"


def blocks(language: str) -> list[str]:
    """The code blocks of the guide in one language."""
    text = GUIDE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def write_example(folder: Path) -> None:
    """The module and the scenario of the guide."""
    (folder / "license_cost.py").write_text(blocks("python")[0], encoding="utf-8")
    (folder / "scenario.yaml").write_text(blocks("yaml")[0], encoding="utf-8")


def install(folder: Path, name: str, version: str, points: dict[str, str]) -> None:
    """What an installer leaves of a distribution with entry points."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = ["[rebalancer.specs]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def install_example(folder: Path) -> None:
    """The distribution of the guide."""
    write_example(folder)
    project = tomllib.loads(blocks("toml")[0])["project"]
    install(folder, project["name"], project["version"], project["entry-points"]["rebalancer.specs"])
