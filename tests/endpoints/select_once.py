"""A small selection through a server, as a process of its own: python -m tests.endpoints.select_once URL FOLDER.

It prints the digest of the result.
"""

import sys
from pathlib import Path

from lens_engine.config import SelectionConfig
from lens_engine.pipeline import select_support_examples
from lens_engine.rows.problem import Problem
from lens_engine.servers.address import Endpoint
from lens_engine.servers.open_endpoint import open_endpoint
from lens_engine.task.template import Task
from lens_engine.types import Example
from tests.endpoints.double import MODEL

_CONFIG = SelectionConfig.model_validate(
    {
        "num_demonstrations": 2,
        "splits": {"validation": 12, "confirmation": 8, "test": 12},
        "filtering": {"keep": 8, "rounds": 2, "initial_score_size": 2, "max_score_size": 8},
        "search": {"beam_width": 2, "children": 2, "iterations": 2},
    }
)


def select_once(url: str, folder: Path) -> str:
    """The digest of a selection through the server at `url`, with its answers in `folder`."""
    examples = [Example(row, f"text {row}", ("bad", "good")[row % 2]) for row in range(90)]
    problem = Problem(Task("{text} It was {label}.", {"bad": "B", "good": "G"}), examples)
    scorer = open_endpoint(Endpoint("vllm", url, MODEL, most_requests=2), cache_dir=folder, answer_bytes=1 << 24)
    try:
        return select_support_examples(problem, scorer, _CONFIG, progress=False).digest
    finally:
        scorer.close()


if __name__ == "__main__":
    sys.stdout.write(f"{select_once(sys.argv[1], Path(sys.argv[2]))}\n")
