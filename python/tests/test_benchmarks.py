"""What keeps the records of benchmarks, with a program that stands for the workloads."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent.parent / "benchmarks"
CHILD = """
import json, sys, time
from pathlib import Path
allocator = sys.argv[1]

def answer(**told):
    print(json.dumps({"allocator": allocator, **told}), flush=True)

def noted(what):
    with (Path(__file__).parent / "orders").open("a") as orders:
        orders.write(f"{allocator} {what}")

if "--caps" in sys.argv:
    for name in sys.argv[2 : sys.argv.index("--caps")]:
        if name == "moe" and allocator == "async":
            sys.exit(3)
        answer(workload=name, cap=16, allocated=4, reserved=8)
    sys.exit()
times = []
for order in sys.stdin:
    noted(order)
    what, word = [*order.split(), ""][:2]
    if what == "begin" and word == "moe" and allocator == "async":
        sys.exit(3)
    if what == "begin" and word == "bert" and SLOW:
        time.sleep(60)
    if what == "steps":
        slower = 2 if allocator == "async" else 1
        times += [slower * seconds for seconds in [0.25, 0.5, 0.75][: int(word)]]
    if what == "steps" and allocator == "expandable" and FAILS:
        answer(error="no memory")
    elif what == "end":
        answer(times=times, losses="as", reserved=8, allocated=4, used=8)
        times = []
    else:
        answer()
"""


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(HERE, tmp_path / "benchmarks")
    return tmp_path


def run(folder, *arguments, slow=False, fails=False):
    child = folder / "benchmarks" / "child.py"
    child.write_text(f"SLOW, FAILS = {slow}, {fails}\n{CHILD}")
    command = [sys.executable, folder / "benchmarks" / "compare.py", "--out", folder / "out.json"]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=100)
    lines = [json.loads(line) for line in (folder / "out.json").read_text().splitlines()]
    return ran, lines[0], {(line["case"], line["who"]): line for line in lines[1:]}


def test_runs_are_kept_with_their_median(folder):
    ran, machine, found = run(folder, "--runs", "2", "gpt2", "bert")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (machine["kind"], machine["bench"]) == ("machine", "torch-compare")
    assert len(found) == 8
    line = found["bert", "cuarena"]
    assert (line["runs"], line["median"], line["low"]) == ([500, 500], 500, 500)
    assert line["reserved"]["median"] == 8 and "bit-equal" in ran.stdout


def test_steps_of_arenas_are_compared_with_those_of_the_same_number_and_run(folder):
    ran, _, found = run(folder, "--runs", "2", "--steps", "8", "gpt2", "moe")
    half = {"steps": 12, "median": 0.5, "low": 0.5, "high": 0.5}
    assert found["gpt2", "async"]["arenas_over"] == half
    assert found["gpt2", "default"]["arenas_over"]["median"] == 1
    assert "arenas_over" not in found["gpt2", "cuarena"]
    assert "arenas_over" not in found["moe", "async"]  # which failed
    assert "step beside step: +0.0 %" in ran.stdout


def test_processes_take_turns_of_a_few_steps_and_each_begins_some(folder):
    run(folder, "--runs", "1", "--steps", "8", "gpt2")
    orders = (folder / "benchmarks" / "orders").read_text().splitlines()
    who = ["default", "expandable", "async", "cuarena"]
    assert orders[:4] == [f"{name} begin gpt2" for name in who]
    assert orders[4:8] == [f"{name} steps 4" for name in who]
    assert orders[8:12] == [f"{name} steps 4" for name in [*who[1:], who[0]]]
    assert orders[12:] == [f"{name} end" for name in who]


def test_a_workload_that_ends_its_process_hides_no_other(folder):
    ran, _, found = run(folder, "--runs", "1", "moe", "bert")
    assert found["moe", "async"]["errors"] and found["bert", "async"]["runs"] == [1000]
    assert found["moe", "default"]["runs"] == [500]
    assert ran.returncode == 0  # arenas ran


def test_a_step_that_fails_ends_its_workload_for_that_allocator_alone(folder):
    _, _, found = run(folder, "--runs", "1", "--steps", "8", "gpt2", fails=True)
    assert found["gpt2", "expandable"]["errors"] == ["no memory"]
    assert "runs" not in found["gpt2", "expandable"] and found["gpt2", "async"]["runs"] == [1000]
    orders = (folder / "benchmarks" / "orders").read_text().splitlines()
    assert [line for line in orders if line.startswith("expandable")] == [
        "expandable begin gpt2",
        "expandable steps 4",
    ]


def test_what_ended_before_the_time_was_over_is_kept(folder):
    _, _, found = run(folder, "--runs", "1", "--limit", "12", "gpt2", "bert", slow=True)
    who = ["default", "expandable", "async", "cuarena"]
    assert sorted(found) == sorted(("gpt2", name) for name in who)


def test_a_cap_that_ends_its_process_hides_no_other(folder):
    _, _, found = run(folder, "--part", "caps", "moe", "bert")
    assert found["moe", "async"]["errors"] and found["bert", "async"]["cap"] == 16


def test_caps_are_looked_for_at_once(folder):
    ran, machine, found = run(folder, "--part", "caps", "gpt2")
    assert ran.returncode == 0 and machine["bench"] == "torch-caps"
    assert {line["cap"] for line in found.values()} == {16} and len(found) == 4


def test_what_pytest_said_is_counted(folder):
    log, out = folder / "log", folder / "tests.json"
    log.write_text("FAILED tests/a.py::b - x\n3 passed in 1s\n=== 1 failed, 2 skipped in 2s ===\n")
    command = [sys.executable, folder / "benchmarks" / "record.py", out, "torch-tests", log]
    subprocess.run(command, check=True)
    found = json.loads(out.read_text().splitlines()[1])
    assert (found["passed"], found["failed"], found["skipped"]) == (3, 1, 2)
    assert found["failures"] == ["tests/a.py::b"]
