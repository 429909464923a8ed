"""The abstract of Li & Qiu (EMNLP 2023) as code: propose, judge, choose, report."""

from lens_engine.config import SelectionConfig
from lens_engine.metering.progress import SelectionListener, hearing
from lens_engine.model.base import LabelScorer, OpenModel, find_scorer
from lens_engine.model.limits import check_refused
from lens_engine.presets import resolve_config
from lens_engine.result import SelectionResult
from lens_engine.rows.problem import Problem
from lens_engine.run.preparation import Ends, prepare_run
from lens_engine.run.selection_run import SelectionRun
from lens_engine.run.state import CheckpointStore, MemoryCheckpointStore
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

    Prompts are proposed (from 100 rows on by LENS, on search rows), every one is judged on the judging rows beside
    classifiers, and the best is chosen; what to expect of it on new texts is estimated, or measured on test rows. A
    budget ends the run early with the best so far (`partial`). So does a cancellation, before the test rows.

    Args:
        problem: the task and its labelled examples.
        scorer: the language model, as `open_model` returns it; or any `LabelScorer`.
        config: the options; None for the preset "quick".
        listener: hears the progress and may ask the run to stop; None for a bar on stderr, if `progress`.
        checkpoints: keeps the newest checkpoint; None keeps it in memory. A run that finds its own there goes on from
            it, and returns the same digest as a run that never stopped.
        deadline: `time.monotonic()` value at which the run ends as by the budget of seconds, with a warning. Its test
            rows are still judged. None for no deadline.
        last_moment: `time.monotonic()` value at which the judging of the test rows ends too, unfinished, so that a
            result is there before the caller kills the process. None for no such moment.

    Raises:
        InvalidDataset, InvalidVerbalizer, ClassTooSmall: labels, label words and rows do not fit.
        InvalidConfig: options contradict each other, or the budget cannot pay for a first result.
        PromptTooLong: a prompt exceeds the context even with empty texts.
        CheckpointForeign, CheckpointDamaged: the checkpoint belongs to other data, options (budget excepted), model,
            engine version, device or number format; or its bytes do not match their digest.
        NonFiniteScore, NothingSelected: the model returned NaN or an infinity; a stop came before a first choice.
        TypeError: an argument has another type.
    """
    scorer = find_scorer(scorer)
    with hearing(listener, progress=progress) as heard:
        prepared = prepare_run(problem, scorer, config or resolve_config(), heard, Ends(deadline, last_moment))
        run = SelectionRun(prepared, checkpoints or MemoryCheckpointStore())
        reason = run.finish()
        if reason is not StopReason.CANCELLED:
            check_refused(prepared.meter.refused, prepared.meter.spent.pairs, scorer.identity.model)
        if reason is StopReason.COMPLETED:
            prepared.meter.finish()
        return run.result(reason)
