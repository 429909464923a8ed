"""Names of methods, classifiers, uses, steps and phases, and figures in words: written here and nowhere else."""

from typing import NamedTuple

from lens_engine.classifier.candidates import Candidate, CandidateName, TestedClassifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective, Use
from lens_engine.result import PromptContender, SupportExamples
from lens_engine.retrieval.form import PromptForm
from lens_engine.show.table import NOTHING
from lens_engine.types import Phase


class MethodWords(NamedTuple):
    """A method, or a form of the prompt that finds demonstrations for each input."""

    compared: str  #: in a sentence that compares
    listed: str  #: in a table or chart; of a form, `name_form` has the number of its demonstrations
    prompt: str  #: its prompt


_METHODS = {
    "lens": MethodWords("Lens", "support examples of Lens", "support examples"),
    "zero_shot": MethodWords("zero-shot", "zero-shot", "zero-shot prompt"),
    "random": MethodWords("a random permutation", "random permutation", "random examples"),
    "random_and_validation": MethodWords(
        "random-and-validation", "random-and-validation", "random-and-validation examples"
    ),
    "nearest": MethodWords("the nearest examples for each input", "nearest", "prompt of the nearest examples"),
    "fixed+nearest": MethodWords(
        "the support examples with the nearest for each input",
        "fixed+nearest",
        "prompt of support examples and the nearest",
    ),
}


class ClassifierWords(NamedTuple):
    """A candidate for the classifier."""

    compared: str  #: in a sentence that compares
    listed: str  #: in a table or chart


_CLASSIFIERS: dict[CandidateName, ClassifierWords] = {
    "bag_of_words": ClassifierWords("a bag of words", "bag of words"),
    "states": ClassifierWords("the model's hidden states", "hidden states"),
    "states_and_words": ClassifierWords("the model's hidden states and a bag of words", "hidden states"),
    "label_probabilities": ClassifierWords("label probabilities", "label probabilities"),
}

USE_HEADERS: dict[Use, str] = {"prompt": "likeliest\nlabel word", "probabilities": "with label\nbiases"}
"""How a prompt is read, on two lines."""

STEPS = {
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
"""Steps of the evaluation, for a list of what was left out."""


class PhaseWords(NamedTuple):
    """A phase of a run."""

    bar: str  #: on a progress bar
    task: str  #: in a list of what there is to do


PHASES = {
    Phase.WORDING: PhaseWords("How examples are written", "Choose how examples are written"),
    Phase.FILTER: PhaseWords("Sorting out", "Sort out examples that do not help"),
    Phase.INITIALISE: PhaseWords("First sets", "Try first sets of examples"),
    Phase.SEARCH: PhaseWords("Search", "Improve the best sets"),
    Phase.EVALUATE: PhaseWords("Test", "Test on rows kept aside"),
}

ALWAYS_THE_LARGEST = "always the largest class"


def _words_of(method: str) -> MethodWords:
    """Those of a method that the library does not have follow from its name."""
    return _METHODS.get(method) or MethodWords(method, method, f"{method.replace('_', '-')} examples")


def name_method(method: str) -> str:
    """A method in a sentence that compares."""
    return _words_of(method).compared


def name_choice(answer: SupportExamples) -> str:
    """The chosen prompt. Only the demonstrations of LENS are called support examples."""
    return _words_of(answer.method).prompt


def name_prompt(one: PromptContender) -> str:
    """A single prompt in a table."""
    return name_form(one.form) if one.form.nearest else _words_of(one.method).listed


def name_contender(one: PromptContender, use: Use) -> str:
    """A single prompt, and whether label biases are added."""
    return name_prompt(one) + ", label biases" * (use == "probabilities")


def name_form(form: PromptForm) -> str:
    """A form in a few words."""
    if form.kind == "fixed":
        return "support examples"
    return f"{'support examples, then ' * (form.kind == 'fixed+nearest')}nearest {form.nearest} for each input"


def name_use(use: Use) -> str:
    """How a prompt is read."""
    return " ".join(USE_HEADERS[use].split())


def name_candidate(candidate: Candidate, *, is_classifier: bool = False) -> str:
    """A candidate in a sentence. A bag of words is called a classifier only if `is_classifier`."""
    prompts, name = candidate.classifier.prompts, _CLASSIFIERS[candidate.name].compared
    if len(prompts) > 1:
        name += f" after {len(prompts)} prompts"
    elif prompts:
        name += " after one prompt" if prompts[0].rows else " without demonstrations"
    return f"the classifier of {name}" if is_classifier or prompts else name


def name_classifier(one: TestedClassifier) -> str:
    """A candidate in a table."""
    name = _CLASSIFIERS[one.name].listed
    if one.name == "bag_of_words":
        return f"{name}, {one.fit_rows:,} rows"
    if one.layer is not None:
        where = "after one prompt" if one.demonstrations else "no examples"
        words = f" + {_CLASSIFIERS['bag_of_words'].listed}" if one.name == "states_and_words" else ""
        return f"{name}, {where}, layer {one.layer}{words}"
    return f"{name}, {one.prompts} prompt{'s' * (one.prompts > 1)}, {one.head}"


def show_figure(figure: float | None) -> str:
    """A share or macro-F1; a dash if it was not measured."""
    return NOTHING if figure is None else f"{figure:.3f}"


def show_interval(low: float, high: float) -> str:
    """The ends of an interval."""
    return f"{low:.3f}–{high:.3f}"


def describe_figure(accuracy: float, macro_f1: float | None, objective: Objective = "accuracy") -> str:
    """An accuracy; or macro-F1, with the accuracy beside it."""
    if objective == "accuracy" or macro_f1 is None:
        return f"{accuracy:.3f}"
    return f"a macro-F1 of {macro_f1:.3f} (accuracy {accuracy:.3f})"


def say_largest_class(figure: Accuracy | None, objective: Objective = "accuracy") -> list[str]:
    """How often the label of the largest class is right on the rows of a figure; nothing if it is not known."""
    if figure is None or figure.largest_class is None:
        return []
    share = describe_figure(figure.largest_class, figure.largest_class_macro_f1, objective)
    return [f"{ALWAYS_THE_LARGEST} has {share}"]
