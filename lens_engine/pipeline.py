"""The abstract of Li & Qiu (EMNLP 2023) as code: choose the support examples, then judge them."""

from lens_engine.config import SelectionConfig
from lens_engine.metering.bar import hearing
from lens_engine.metering.progress import SelectionListener
from lens_engine.presets import resolve_config
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.checkpoint import CheckpointStore, MemoryCheckpointStore
from lens_engine.run.preparation import Ends, prepare_run
from lens_engine.run.session import Session
from lens_engine.scoring.base import LabelScorer, OpenModel, find_scorer
from lens_engine.types import StopReason


def select_support_examples(
    problem: Problem,
    scorer: LabelScorer | OpenModel,
    config: SelectionConfig | None = None,
    *,
    listener: SelectionListener | None = None,
    checkpoints: CheckpointStore | None = None,
    progress: bool = True,
    deadline: float | None = None,
    last_moment: float | None = None,
) -> SelectionResult:
    """Find the support examples of a task: the ordered demonstrations that make `scorer` classify best.

    The examples are cut into splits that share no text: candidates, score set, validation, confirmation and test rows.
    The method (for LENS: progressive filtering, then diversity-guided search) chooses among the candidates. The
    method's finalists, its best permutations, are judged again on the confirmation rows. The choice is judged on the
    test rows, and so are the baselines it is compared with.

    If `checkpoints` holds a checkpoint of this run, the run resumes from it and returns the same digest as a run
    that never stopped. A budget ends the run early with the best permutation so far (`partial`). A cancellation does
    so too, and then nothing is judged on the test rows.

    Args:
        problem: the task and its labelled examples.
        scorer: the language model, as `open_model` returns it; or any `LabelScorer`.
        config: the options; None for the preset "quick". Every `method` gets the same splits and evaluation.
        listener: hears the progress and may ask the run to stop; None for a progress bar on stderr.
        checkpoints: keeps the newest checkpoint; None keeps it in memory.
        progress: whether a bar is shown on a terminal or in a notebook if there is no listener.
        deadline: `time.monotonic()` value at which the run ends with the best permutation so far, as by the budget of
            seconds, and a warning says so. The test rows of that permutation are still judged. None for no deadline.
        last_moment: `time.monotonic()` value at which the judging of the test rows ends too, unfinished. It leaves
            time for the bag of words and the result before the caller kills the process. None for no such moment.

    Raises:
        InvalidDataset, InvalidVerbalizer, ClassTooSmall: labels and label words do not match, or the examples cannot
            fill the splits.
        InvalidConfig: options contradict each other, or the budget cannot pay for a first result.
        PromptTooLong: the longest possible prompt exceeds the context, and `config.too_long` is "reject".
        CheckpointForeign: the checkpoint belongs to other data, options (budget excepted), model, engine version,
            device or number format.
        CheckpointDamaged: the checkpoint's bytes do not match their digest.
        NonFiniteScore: the model returned NaN or an infinity.
        NothingSelected: the run was stopped before any examples were chosen.
        TypeError: an argument has another type; the message says what to write.
    """
    scorer = find_scorer(scorer)
    with hearing(listener, progress=progress) as heard:
        prepared = prepare_run(problem, scorer, config or resolve_config(), heard, Ends(deadline, last_moment))
        session = Session(prepared, checkpoints or MemoryCheckpointStore())
        reason = session.choose()
        if reason is not StopReason.CANCELLED:
            reason = session.evaluate(reason)
        if reason is StopReason.COMPLETED:
            prepared.meter.finish()
        return session.result(reason)
