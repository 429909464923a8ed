"""What the test rows show as clearly better than what a run chose."""

from collections.abc import Sequence

import numpy as np

from lens_engine.classifier.candidates import Candidate
from lens_engine.classifier.quality import is_clearly_better
from lens_engine.config import Objective
from lens_engine.result.headline import HeadlineKind, Tested, kind_of
from lens_engine.run.single_prompts import ComparedPrompts
from lens_engine.scoring.no_answer import pick_answers
from lens_engine.types import IndexArray


def find_better(
    compared: ComparedPrompts,
    candidates: Sequence[Candidate],
    chosen: Candidate | None,
    gold: IndexArray,
    objective: Objective,
) -> dict[HeadlineKind, Tested | None]:
    """The best of what is clearly better than the prompt, than the classifier to use, and than word counting, as far as
    they were tested.

    The choice among classifiers that read the model weighs their price, so they do not count against each other.
    """
    use, tested = compared.use, list[Tested]()
    for prompt in compared.contenders:
        if use in prompt.test:
            answers = pick_answers(prompt.test_log_probs[use], gold)
            tested.append(Tested("prompt", prompt.method, prompt.test[use], answers, prompt is compared.chosen))
    for one in candidates:
        if one.classifier.test is not None and one.tested:
            found = one.name, one.classifier.test, np.array(one.tested), one is chosen
            tested.append(Tested(kind_of(one), *found))

    def find(own: Tested) -> Tested | None:
        others = (one for one in tested if one is not own and (one.kind != own.kind or one.kind == "prompt"))
        better = (one for one in others if is_clearly_better(one.answers, own.answers, gold, objective))
        return max(better, key=lambda one: one.test.figure(objective), default=None)

    return {own.kind: find(own) for own in tested if own.is_chosen or own.kind == "words"}
