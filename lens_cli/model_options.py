"""Options of the commands that run a model."""

from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="Device: cpu, cuda, cuda:1, mps, or auto (CUDA if available).")]

Dtype = Annotated[
    str,
    typer.Option(
        help="Precision: float32, bfloat16, float16, or auto (the most precise format that runs fast on the device)."
    ),
]

PairCache = Annotated[
    bool, typer.Option(metavar="", help="Cache of computed scores: read scores of earlier runs and store new ones.")
]
