"""Instances that the benchmarks draw are what they say: judged by the reader of instances that the tests have."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support import google_machine_reassignment as judge

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tests" / "data" / "roadef" / "model_a1_5.txt"


def drawn(folder: Path, *options: object) -> judge.Instance:
    command = (sys.executable, ROOT / "benchmarks" / "draw_roadef.py", SOURCE, folder, "small", *options)
    subprocess.run(list(map(str, command)), check=True, timeout=120, stdout=subprocess.PIPE)
    return judge.load(folder / "model_small.txt", folder / "assignment_small.txt")


def test_what_is_drawn_holds_at_first_and_is_as_large_as_asked(tmp_path: Path) -> None:
    sizes = ("--processes", 300, "--machines", 30, "--resources", 3, "--services", 150, "--dependencies", 20)
    instance = drawn(tmp_path, *sizes, "--locations", 15, "--balances", 2, "--seed", 3)
    assert instance.requirement.shape == (300, 3)
    assert instance.capacity.shape == (30, 3)
    assert np.bincount(instance.service, minlength=150).min() == 1
    assert (len(instance.spread), len(set(instance.dependencies)), len(instance.balance)) == (150, 20, 2)
    assert set(instance.location) == set(range(15))
    assert set(instance.neighborhood) == set(range(5))
    assert not judge.excess(instance, instance.initial).any()
    assert not judge.conflicts(instance, instance.initial)
    assert not judge.missing_locations(instance, instance.initial)
    assert not judge.missing_services(instance, instance.initial)
    published = judge.load(SOURCE, SOURCE.with_name("assignment_a1_5.txt"))
    known = {tuple(row) for row in published.requirement[:, :3].tolist()}
    assert {tuple(row) for row in instance.requirement.tolist()} <= known


def test_the_seed_decides(tmp_path: Path) -> None:
    options = ("--processes", 60, "--machines", 10, "--resources", 2, "--services", 40, "--dependencies", 5)
    texts = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        drawn(folder, *options, "--seed", seed)
        texts.append((folder / "model_small.txt").read_text() + (folder / "assignment_small.txt").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_more_services_than_processes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        drawn(tmp_path, "--processes", 10, "--services", 11)
    assert not list(tmp_path.iterdir())
