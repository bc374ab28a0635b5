"""`sluicemq notebooks`: Jupyter on a stack of its own, which the notebooks find by `SLUICEMQ_STACK`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from admin.cli.console import tell
from admin.cli.up import STOP_SIGNALS, StopRequested, request_stop, where_it_is
from admin.errors import AdminError, UsageError
from admin.stack.embedded import Stack, StackOptions, embedded_stack

FOLDER = Path(__file__).parents[2] / "notebooks"
STACK_VARIABLE = "SLUICEMQ_STACK"
"""Where the stack is, as JSON, in the environment of Jupyter and its kernels."""


def notebooks(
    data: Annotated[Path, typer.Option(help="Folder of the stack; made when it is missing.")] = Path(
        "data-notebooks"
    ),
    folder: Annotated[Path, typer.Option(help="The notebooks.")] = FOLDER,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Jupyter's. 0 takes a free one.")] = 8888,
    browser: Annotated[bool, typer.Option(help="Whether to open one.")] = True,
) -> None:
    """Start Kafka, the router and two gateways, and Jupyter beside them, until Jupyter ends.

    In Jupyter's list of files, open a notebook by *Open With → Notebook*.
    """
    if find_spec("jupyterlab") is None or find_spec("jupytext") is None:
        raise AdminError("Jupyter is not installed: pip install 'sluicemq[notebooks]'.")
    if not folder.is_dir():
        raise UsageError(f"There are no notebooks in {folder}: name their folder with --folder.")
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}", f"--notebook-dir={folder}"]
    command += [] if browser else ["--no-browser"]
    # Jupyter asks twice when it is interrupted; here its end is the stack's too.
    command += ["--ServerApp.answer_yes=True", "--ServerApp.ip=127.0.0.1"]
    # Jupyter has some trouble with being root; on a machine of containers everybody is.
    command += ["--allow-root"] if os.geteuid() == 0 else []
    for number in STOP_SIGNALS:
        signal.signal(number, request_stop)
    try:
        with (
            embedded_stack(StackOptions(data), tell) as stack,
            subprocess.Popen(command, env=os.environ | kernel_variables(stack)) as jupyter,
        ):
            try:
                jupyter.wait()
            finally:
                jupyter.terminate()
    except StopRequested:
        tell("Stopped.")


def kernel_variables(stack: Stack) -> dict[str, str]:
    """What kernels find in their environment."""
    # Spark would start its Python workers with whatever `python3` is, which need not be where our packages are.
    return {STACK_VARIABLE: where_it_is(stack), "PYSPARK_PYTHON": sys.executable}
