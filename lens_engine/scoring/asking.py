"""How a scorer wants to be asked, and what its scores are worth: a model behind a server may differ from one here."""

from lens_engine.errors import InvalidConfig
from lens_engine.scoring.base import AskingScorer, LabelScorer
from lens_engine.scoring.cache.scorer import find_computing
from lens_engine.scoring.label_ends import end_label_words
from lens_engine.task.chat import ChatTask
from lens_engine.task.label_end import EndedTask
from lens_engine.task.template import Task


def fit_task(scorer: LabelScorer, task: Task) -> Task:
    """The task as the scorer's model is asked: as it is, with what ends its label words, or as turns of a chat.

    Raises:
        InvalidConfig: the task is turns of a chat, and the scorer takes texts.
        InvalidVerbalizer: as `end_label_words`, or as `AskingScorer.fit_task`.
        EndpointError: as `AskingScorer.fit_task`.
    """
    asking = _find_asking(scorer)
    if asking is not None and asking.takes_turns:
        return asking.fit_task(task)
    if isinstance(task, ChatTask):
        raise InvalidConfig(
            f"the task is turns of a chat, and {scorer.identity.model} is asked by one text; give the task without "
            "them",
            field="task.chat",
        )
    plain = task.without_end() if isinstance(task, EndedTask) else task  # another model may need another end, or none
    return end_label_words(plain, scorer.encode_label_spans)


def takes_turns(scorer: LabelScorer) -> bool:
    """Whether the prompts of a scorer are turns of a chat."""
    asking = _find_asking(scorer)
    return asking is not None and asking.takes_turns


def gives_answers_only(scorer: LabelScorer) -> bool:
    """Whether the scores of a scorer tell the likeliest label, and no probabilities."""
    asking = _find_asking(scorer)
    return asking is not None and asking.gives_answers_only


def _find_asking(scorer: LabelScorer) -> AskingScorer | None:
    scorer = find_computing(scorer)
    return scorer if isinstance(scorer, AskingScorer) else None
