"""Names of contenders and of steps of the evaluation, for sentences."""

from lens_engine.result import ContenderName

CONTENDERS: dict[ContenderName, str] = {
    "classifier": "the classifier",
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


def name_step(step: str) -> str:
    """A step of the evaluation, for a list of what was left out."""
    return ({**CONTENDERS} | _OTHER_STEPS)[step]
