"""Whether a prompt is recommended beside the classifier to use."""

from collections.abc import Sequence

from lens_engine.classifier.candidates import Candidate
from lens_engine.config import Objective
from lens_engine.result import PromptContender


def list_ahead(
    prompt: PromptContender, classifier: Candidate | None, candidates: Sequence[Candidate], objective: Objective
) -> list[Candidate]:
    """The classifier to use and the bag of words, as far as they are ahead of a prompt; nothing without the first."""
    if classifier is None or not _is_behind(prompt, classifier, objective):
        return []
    words = [one for one in candidates if one.name == "bag_of_words" and one is not classifier]
    return [classifier, *(one for one in words if _is_behind(prompt, one, objective))]


def _is_behind(prompt: PromptContender, candidate: Candidate, objective: Objective) -> bool:
    """Whether a classifier is ahead by more than a standard error.

    Rows that are no test rows tell; the test rows do only if the prompt was judged on no others.
    """
    is_judged = prompt.judged is not None
    own = prompt.judged if is_judged else prompt.test
    theirs = candidate.cross_validated if is_judged else candidate.classifier.test
    if own is None or theirs is None:
        return False
    error = (own.error(objective) ** 2 + theirs.error(objective) ** 2) ** 0.5
    return bool(theirs.figure(objective) - own.figure(objective) > error)
