"""The notebooks run from top to bottom, and are what the house wants: no outputs, no code of their own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import jupytext
import pytest
from nbclient import NotebookClient

from admin.cli.notebooks import FOLDER, STACK_VARIABLE, kernel_variables
from admin.stack.embedded import Stack

NOTEBOOKS = sorted(FOLDER.glob("*.py"))
ON_A_STACK = {"03_live_routes", "04_replay_and_what_if", "05_latency_and_throughput"}
SHOWN = {
    "01_messages": "header qos",
    "02_routing_step_by_step": "tbmq.msg.downlink.basic.gw2",
    "03_live_routes": "filter='notebook/city/+'",
    "04_replay_and_what_if": "|somebody",
    "05_latency_and_throughput": "'lost': 0",
}
"""What can stand in the outputs of a notebook only if it has worked."""
PATIENCE = 240
"""Seconds for one cell on a busy machine."""

# Jupyter's own client uses what its libraries deprecate.
pytestmark = [
    pytest.mark.timeout(900, func_only=True),
    pytest.mark.filterwarnings("default::DeprecationWarning"),
]


def by_name(path: Path) -> str:
    return path.stem


def execute(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Run it as Jupyter would, and return the outputs of its cells."""
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent))
    # Kernels tell where they listen in files; they need not be the user's.
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = jupytext.read(path)
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3", resources=place).execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem not in ON_A_STACK], ids=by_name)
def test_it_runs_alone(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(STACK_VARIABLE, raising=False)
    assert SHOWN[path.stem] in str(execute(path, monkeypatch, tmp_path)).replace("\\'", "'")


@pytest.mark.live
@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem in ON_A_STACK], ids=by_name)
def test_it_runs_on_a_broker(
    stack: Stack, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in kernel_variables(stack).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SLUICEMQ_NOTEBOOK_SECONDS", "4")
    assert SHOWN[path.stem] in str(execute(path, monkeypatch, tmp_path)).replace("\\'", "'")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_it_defines_nothing_of_its_own(path: Path) -> None:
    code = "\n".join(cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code")
    tree = compile(code, path.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    assert not [node for node in ast.walk(tree) if isinstance(node, defining)]


def test_each_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text()
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        assert f"]({path.name})" in listed
