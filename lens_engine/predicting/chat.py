"""The prompt of a classifier as turns of a chat, by the chat template of the model that is asked."""

from collections.abc import Mapping, Sequence

from lens_engine.classifier.classifier import Classifier, Prompt
from lens_engine.errors import InvalidConfig
from lens_engine.scoring.base import ChatScorer, LabelScorer
from lens_engine.scoring.cache.scorer import find_computing
from lens_engine.task.special_tokens import OPEN

_SLOT = "\ufdd4"


def as_chat(classifier: Classifier, messages: Sequence[Mapping[str, str]], scorer: LabelScorer) -> Classifier:
    """The classifier with its prompt replaced by these messages; the answer of the model is a label word.

    Args:
        messages: `role` and `content` of each; the content of the last is the place of the input, `{text}`, with what
            surrounds it.

    Raises:
        InvalidConfig: the model has no chat template, or its template refuses the messages.
    """
    chat = find_computing(scorer)
    if not isinstance(chat, ChatScorer):
        raise InvalidConfig(f"{scorer.identity.model} has no chat template that Lens can read", field="form")
    *turns, last = messages
    slot = {**last, "content": last["content"].replace("{text}", _SLOT)}
    before, after = chat.render_chat([*turns, slot]).rsplit(_SLOT, 1)
    # The last turn is the query. A cut before a special token changes no token.
    start = max(before.rfind(OPEN), 0)
    pattern = f"{_escape(before[start:])}{{text}}{_escape(after)}{{label}}"
    (prompt,) = classifier.prompts
    prefix = (before[:start],) if start else ()
    task = classifier.task.model_copy(update={"template": pattern, "separator": ""})
    return classifier.model_copy(
        update={"task": task, "prompts": (Prompt(rows=prompt.rows, demonstrations=prefix),), "most_tokens": None}
    )


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
