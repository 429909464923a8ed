"""Names of classifiers and of steps of the evaluation, for sentences."""

from lens_engine.classifier.tested import ClassifierName
from lens_engine.types import StopReason

CLASSIFIERS: dict[ClassifierName, str] = {
    "ensemble": "the ensemble",
    "support_examples": "the support examples alone",
    "zero_shot": "the zero-shot prompt",
    "zero_shot_head": "the zero-shot prompt with a head",
    "random_and_validation": "random-and-validation",
    "random_ensemble": "the ensemble of random permutations",
    "random_prompts": "random prompts",
    "long_prompt": "one long random prompt",
    "bag_of_words": "a bag of words",
}

_OTHER_STEPS = {
    "confirmation": "the confirmation of the finalists",
    "random": "the accuracy of random permutations",
    "order": "other orders of the examples",
}


def say_partial(reason: StopReason) -> str:
    """Why a run ended early, and what its result is worth; nothing for a run that was completed."""
    if reason is StopReason.COMPLETED:
        return ""
    why = "the budget ran out" if reason is StopReason.BUDGET else "the run was stopped"
    return f"Partial: {why}; these are the best examples found until then."


def name_step(step: str) -> str:
    """A step of the evaluation, for a list of what was left out."""
    return ({**CLASSIFIERS} | _OTHER_STEPS)[step]
