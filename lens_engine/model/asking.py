"""How a scorer wants to be asked, and what its scores are worth: a model behind a server may differ from one here."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lens_engine.errors import InvalidConfig, ModelError
from lens_engine.model.base import AskingScorer, LabelScorer, Prefix
from lens_engine.model.labels import end_label_words
from lens_engine.model.score_cache import find_computing
from lens_engine.prompt.chat import ChatTask
from lens_engine.prompt.template import EndedTask, Task
from lens_engine.types import States


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


@runtime_checkable
class StatesScorer(LabelScorer, Protocol):
    """A scorer that also shows the hidden states of its model."""

    @property
    def num_layers(self) -> int:
        """Number of decoder layers; 0 if the scorer cannot find them, and then it shows no states."""
        ...

    def states(self, prefix: Prefix, queries: Sequence[str], layers: Sequence[int]) -> States:
        """Hidden states of each query after one prefix.

        Args:
            prefix: computed once for all queries; () for none.
            queries: Q texts; none is empty.
            layers: numbers of decoder layers, from 1 (the output of the first) to `num_layers`; in any order. The model
                computes a query up to the highest.

        Returns:
            `states  # [layers, 2, Q, size]` float32, in the order of `layers` and `POOLINGS`: the state of the query's
            last token, and the mean over the query's tokens. States are outputs of decoder layers as they are: the
            final norm is not applied, not even to the last layer.

        Raises:
            PromptTooLong: a prefix with a query exceeds `max_prompt_tokens`.
            NonFiniteScore: the model returned NaN or an infinity.
            ValueError: there is no layer, or a layer is out of range.
        """
        ...


def find_states_scorer(scorer: LabelScorer) -> StatesScorer | None:
    """The scorer that shows the hidden states of this scorer's model; None if none does."""
    scorer = find_computing(scorer)
    return scorer if isinstance(scorer, StatesScorer) and scorer.num_layers else None


def require_states_scorer(scorer: LabelScorer) -> StatesScorer:
    """As `find_states_scorer`.

    Raises:
        ModelError: no scorer shows them.
    """
    found = find_states_scorer(scorer)
    if found is None:
        raise ModelError("the scorer shows no hidden states")
    return found
