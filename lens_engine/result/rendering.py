"""The renderer of support examples."""

from lens_engine.errors import InvalidConfig
from lens_engine.result.parts import SupportExamples
from lens_engine.retrieval.pool import Pool, Retrieval
from lens_engine.retrieval.prompts import PromptRenderer
from lens_engine.task.record import TaskRecord


def find_renderer(record: TaskRecord, answer: SupportExamples, pool: Pool | None) -> PromptRenderer:
    """The prompt of support examples, of any form.

    Args:
        pool: rows in which it finds demonstrations; not read for a fixed form.

    Raises:
        InvalidConfig: the prompt finds demonstrations for each input, and the pool is missing.
    """
    examples = [one.example for one in answer.examples]
    if not answer.form.nearest:
        return PromptRenderer.of(record.task(), examples, None)
    if pool is None:
        raise InvalidConfig(
            f"the prompt has the form {answer.form.name}, and the result has not the pool in which it finds rows",
            field="result",
        )
    return PromptRenderer.of(record.task(), examples, Retrieval(form=answer.form, pool=pool))
