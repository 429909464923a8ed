"""The paper's abstract as code: choose the support examples, then judge them."""

from lens_engine.config import SelectionConfig
from lens_engine.language_model.fine_tuning.evidence import FineTuner
from lens_engine.metering.progress import SelectionListener
from lens_engine.presets import resolve_config
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import CheckpointStore, MemoryCheckpointStore
from lens_engine.run.preparation import prepare_run
from lens_engine.run.session import Session
from lens_engine.scoring.base import LabelScorer
from lens_engine.types import StopReason


def select_support_examples(
    problem: Problem,
    scorer: LabelScorer,
    config: SelectionConfig | None = None,
    *,
    listener: SelectionListener | None = None,
    checkpoints: CheckpointStore | None = None,
    fine_tuner: FineTuner | None = None,
) -> SelectionResult:
    """Find the support examples of a task: the ordered demonstrations that make `scorer` classify best.

    The examples are cut into splits that never meet. The method (LENS: progressive filtering, then diversity-guided
    search) chooses among the candidates. Its finalists are judged again on confirmation rows, and the choice is
    judged on test rows beside what one would do otherwise.

    A run that finds a checkpoint of its own goes on from there, and returns the same digest as one
    that never stopped. A budget or a cancel ends it early with the best so far (`partial`).

    Args:
        config: None for the preset "standard". With another `method` than "lens" the same rows are split and judged
            in the same way, and only the choice is another's.
        fine_tuner: for methods that choose by a fine-tuned model; see `open_model`.

    Raises:
        InvalidDataset, ClassTooSmall: the examples cannot fill the splits or the quotas.
        InvalidConfig: options contradict each other, the budget cannot pay for a first result, or a coreset method
            has no `fine_tuner`.
        PromptTooLong: a prompt may not fit, and `config.too_long` is "reject".
        CheckpointForeign: the checkpoint belongs to other data, options, model or engine version.
        CheckpointDamaged: from the store.
        NonFiniteScore: the model gave NaN or an infinity.
        NothingSelected: stopped before there was a permutation.
    """
    prepared = prepare_run(problem, scorer, config or resolve_config(), listener, fine_tuner)
    session = Session(prepared, checkpoints or MemoryCheckpointStore())
    reason = session.choose()
    if reason is not StopReason.CANCELLED:
        reason = session.evaluate(reason)
    return session.result(reason)
