"""The paper's abstract as code: filter, search, evaluate."""

from collections.abc import Sequence
from dataclasses import dataclass

from lens_engine.checkpoint import CheckpointStore, MemoryCheckpointStore
from lens_engine.config import SelectionConfig
from lens_engine.progress import SelectionListener, SilentListener
from lens_engine.report import SelectionResult
from lens_engine.scoring.base import LabelScorer
from lens_engine.template import Task
from lens_engine.types import Example


@dataclass(frozen=True, slots=True)
class Problem:
    """What is to be solved: a task and its labelled examples.

    `test` is None when test rows are to be held out of `examples`.
    """

    task: Task
    examples: Sequence[Example]
    test: Sequence[Example] | None = None


def select_support_examples(
    problem: Problem,
    scorer: LabelScorer,
    config: SelectionConfig | None = None,
    *,
    listener: SelectionListener | None = None,
    checkpoints: CheckpointStore | None = None,
) -> SelectionResult:
    """Find the support examples of a task: the ordered demonstrations that make `scorer` classify best.

    Raises:
        InvalidDataset, ClassTooSmall: the examples cannot fill the splits or the quotas.
        PromptTooLong: a prompt may not fit, and `config.too_long` is "reject".
        NonFiniteScore: the model gave NaN or an infinity.
        NothingSelected: stopped (cancelled) before there was a permutation.
    """
    raise NotImplementedError
