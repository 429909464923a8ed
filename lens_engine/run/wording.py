"""Sentences on what to use, and names of the steps of the evaluation."""

from collections.abc import Sequence

from lens_engine.classifier.candidates import Candidate, CandidateName
from lens_engine.classifier.largest_class import describe_figure, say_largest_class
from lens_engine.classifier.quality import Accuracy, Quality
from lens_engine.config import Objective
from lens_engine.result import Lead, PromptContender
from lens_engine.types import StopReason

_METHODS: dict[str, str] = {
    "lens": "Lens",
    "zero_shot": "zero-shot",
    "random": "a random permutation",
    "random_and_validation": "random-and-validation",
    "nearest": "the nearest examples for each input",
    "fixed+nearest": "the support examples with the nearest for each input",
}

_CANDIDATES: dict[CandidateName, str] = {
    "bag_of_words": "a bag of words",
    "states": "the model's hidden states",
    "states_and_words": "the model's hidden states and a bag of words",
    "label_probabilities": "label probabilities",
}

_STEPS = {
    "forms": "other forms of the prompt",
    "confirmation": "the confirmation of the finalists",
    "test": "the test rows",
    "zero_shot": "the zero-shot prompt",
    "bag_of_words": "the bag of words",
    "states_zero_shot": "the hidden states without demonstrations",
    "states_one_prompt": "the hidden states after one prompt",
    "label_probabilities": "the label probabilities of several prompts",
    "random_and_validation": "random-and-validation",
    "order": "other orders of the examples",
}


def say_verdict(
    reason: StopReason,
    chosen: Candidate | None,
    candidates: Sequence[Candidate],
    objective: Objective = "accuracy",
    *,
    is_empty_handed: bool = False,
) -> str:
    """Which classifier to use, or how to get one; after a run that ended early, first why it did.

    Args:
        is_empty_handed: whether the run ended before any examples were chosen.
    """
    is_partial = reason is not StopReason.COMPLETED
    if chosen is not None:
        sentence = say_classifier(chosen, candidates, objective)
    elif is_partial:
        sentence = "No classifier was made: a run that ends by itself makes one."
    else:
        sentence = "No classifier was made: the options ask for none, or the rows are too few for one."
    return f"{_say_partial(reason, is_empty_handed=is_empty_handed)} {sentence}" if is_partial else sentence


def _say_partial(reason: StopReason, *, is_empty_handed: bool) -> str:
    """Why a run ended early, what its result is worth, and what to do."""
    if is_empty_handed:
        return (
            "Partial: the budget ran out before any examples were chosen; those of the prompt are random, and a larger "
            "budget (max_pairs, max_seconds or max_cost) finds better ones."
        )
    why, remedy = (
        ("the budget ran out", "a larger budget")
        if reason is StopReason.BUDGET
        else ("the run was stopped", "a run that goes on")
    )
    return f"Partial: {why}; these are the best examples found until then, and {remedy} may find better ones."


def name_step(step: str) -> str:
    """A step of the evaluation, for a list of what was left out."""
    return _STEPS[step]


def say_prompt(
    shown: Sequence[PromptContender],
    chosen: PromptContender,
    ahead: Sequence[Candidate] = (),
    objective: Objective = "accuracy",
) -> str:
    """How often each prompt is right, the chosen one first, and why it is not recommended.

    Args:
        ahead: the classifier to use, if it is ahead of the prompt; then a bag of words, if it is ahead too.
    """
    if chosen.test is None:
        return "The prompt was not tested."
    others = [
        f"{_METHODS.get(one.method, one.method)} has {_show(one.test, objective)}"
        for one in shown
        if one is not chosen and one.test is not None
    ]
    name = _METHODS.get(chosen.method, chosen.method)
    opening = f"The prompt of {name} has {_show(chosen.test, objective)} on {chosen.test.n} test rows"
    sentence = "; ".join([opening, *others, *say_largest_class(chosen.test, objective)]) + "."
    if not ahead:
        return sentence
    needs_model = all(one.classifier.prompts for one in ahead)
    better = " and ".join(f"{_name(one)} has {_show(_figures(one), objective)}" for one in ahead)
    return f"{sentence} Not recommended{' where the classifier can be used' if needs_model else ''}: {better}."


def say_classifier(chosen: Candidate, candidates: Sequence[Candidate], objective: Objective = "accuracy") -> str:
    """What the classifier reads, its figures, those of a bag of words, and that of the largest class.

    Of a classifier that does not beat the largest class, the sentence also names the candidates that do.
    """
    test, name = chosen.classifier.test, _name(chosen, is_classifier=True)
    is_beaten = test is not None and not test.beats_largest_class(objective)
    ahead = [one for one in candidates if is_beaten and _beats_largest_class(one, objective)]
    others = [one for one in candidates if one is not chosen and (one.name == "bag_of_words" or one in ahead)]
    figures = [f"{_name(one)} has {_show(_figures(one), objective)}" for one in others]
    own = f"{_show(_figures(chosen), objective)} on {_figures(chosen).n} test rows"
    told = "; ".join([f"{own}, {_say_price(chosen)}", *figures, *say_largest_class(test, objective)])
    if ahead:
        return f"The best by cross-validation, {name}, does not beat the largest class on the test rows: {told}."
    if is_beaten:
        return f"Use no classifier of this run as it is; the best by cross-validation is {name}: {told}."
    return f"Use {name}: {told}."


def _beats_largest_class(candidate: Candidate, objective: Objective) -> bool:
    test = candidate.classifier.test
    return test is not None and test.beats_largest_class(objective)


def _name(candidate: Candidate, *, is_classifier: bool = False) -> str:
    """A bag of words is called a classifier only if `is_classifier`."""
    name = f"{_CANDIDATES[candidate.name]}{_say_prompts(candidate)}"
    return f"the classifier of {name}" if is_classifier or candidate.classifier.prompts else name


def _say_prompts(candidate: Candidate) -> str:
    prompts = candidate.classifier.prompts
    if not prompts:
        return ""
    if len(prompts) > 1:
        return f" after {len(prompts)} prompts"
    return " after one prompt" if prompts[0].rows else " without demonstrations"


def _show(one: Accuracy, objective: Objective) -> str:
    return describe_figure(one.accuracy, one.macro_f1, objective)


def _figures(candidate: Candidate) -> Quality:
    return candidate.classifier.test or candidate.cross_validated


def _say_price(candidate: Candidate) -> str:
    tokens = candidate.classifier.tokens_per_input
    return f"for {tokens:,.0f} tokens an input" if candidate.classifier.prompts else "without a language model"


def describe_noisy_lead(lead: Lead | None, dtype: str) -> list[str]:
    """A warning if the rounding of a 16-bit format may have decided; none for float32."""
    if lead is None or not lead.within_noise or dtype == "float32":
        return []
    by = f"{lead.rows} of" * bool(lead.rows)
    if lead.macro_f1 is not None:
        by = f"{lead.macro_f1:.3f} of macro-F1 on the" * bool(lead.macro_f1)
    ahead = f"leads the runner-up by {by}" if by else "and the runner-up are level on the"
    return [
        f"the chosen permutation {ahead} {lead.n} rows that decided, which is within the rounding of {dtype} "
        f"({lead.close_rows} close rows): on another device, or in float32, the runner-up may be chosen"
    ]
