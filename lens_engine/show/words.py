"""Names of methods, classifiers, uses, steps and phases, and figures in words: written here and nowhere else."""

from typing import NamedTuple

from lens_engine.classifier.candidates import CandidateName, TestedClassifier
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective, Use
from lens_engine.result import PromptContender, SupportExamples
from lens_engine.result.headline import HeadlineKind
from lens_engine.retrieval.form import PromptForm
from lens_engine.show.table import NOTHING
from lens_engine.task.wording import show_percent, show_share
from lens_engine.types import Phase


class MethodWords(NamedTuple):
    """A method, or a form of the prompt that finds demonstrations for each input."""

    compared: str  #: in a sentence that compares
    listed: str  #: in a table or chart; of a form, `name_form` has the number of its demonstrations
    prompt: str  #: its prompt


_METHODS = {
    "lens": MethodWords("the examples of Lens", "examples of Lens", "prompt"),
    "zero_shot": MethodWords("no examples", "no examples", "prompt without examples"),
    "random": MethodWords("random examples", "random examples", "prompt of random examples"),
    "random_and_validation": MethodWords(
        "the best random examples", "best random examples", "prompt of the best random examples"
    ),
    "nearest": MethodWords("similar examples for each text", "similar examples", "prompt"),
    "fixed+nearest": MethodWords("the examples of Lens, then similar ones", "examples, then similar ones", "prompt"),
}


_CLASSIFIERS: dict[CandidateName, str] = {
    "bag_of_words": "word counting",
    "embeddings": "sentence embeddings",
    "states": "model",
    "states_and_words": "model + word counting",
    "label_probabilities": "answers of the model",
}

HEADLINES: dict[HeadlineKind, str] = {"classifier": "Classifier", "words": "Word counting", "prompt": "Prompt"}

PROMPT_PRICE = "text, for this model"
"""What a prompt takes, beside its figure."""

USE_HEADERS: dict[Use, str] = {"prompt": "as the model\nanswers", "probabilities": "corrected"}
"""How a prompt is read, on two lines."""

STEPS = {
    "forms": "other forms of the prompt",
    "confirmation": "the second look at the best sets of examples",
    "test": "the test texts",
    "zero_shot": "the prompt without examples",
    "bag_of_words": "word counting",
    "embeddings": "sentence embeddings",
    "states_zero_shot": "the classifier of the model without examples",
    "states_one_prompt": "the classifier of the model after examples",
    "label_probabilities": "the classifier of label probabilities",
    "random_and_validation": "the best random examples",
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

NOT_TESTED = "on rows that decide"
ALWAYS_THE_LARGEST = "always the most frequent label"


def _words_of(method: str) -> MethodWords:
    """Those of a method that the library does not have follow from its name."""
    return _METHODS.get(method) or MethodWords(method, method, f"{method.replace('_', '-')} examples")


def name_method(method: str) -> str:
    """A method in a sentence that compares."""
    return _words_of(method).compared


def name_choice(answer: SupportExamples) -> str:
    """The chosen prompt."""
    return _words_of(answer.method).prompt


def name_prompt(one: PromptContender) -> str:
    """A single prompt in a table."""
    return name_form(one.form) if one.form.nearest else _words_of(one.method).listed


def name_contender(one: PromptContender, use: Use) -> str:
    """A single prompt, and whether it is corrected by label biases."""
    return name_prompt(one) + ", corrected" * (use == "probabilities")


def name_form(form: PromptForm) -> str:
    """A form in a few words."""
    if form.kind == "fixed":
        return "the same examples for every text"
    by = ", by sentence embeddings" * (form.similarity == "embeddings")
    return f"{'the same examples, then ' * (form.kind == 'fixed+nearest')}{form.nearest} similar ones for each text{by}"


def name_use(use: Use) -> str:
    """How a prompt is read."""
    return " ".join(USE_HEADERS[use].split())


def name_classifier(one: TestedClassifier) -> str:
    """A candidate for the classifier in a table."""
    name = _CLASSIFIERS[one.name]
    if not one.prompts:
        return name
    if one.layer is not None:
        return f"{name}, {'after' if one.demonstrations else 'no'} examples, layer {one.layer}"
    return f"{name}, {one.head}"


def show_figure(figure: float | None) -> str:
    """A share or macro-F1; a dash if it was not measured."""
    return NOTHING if figure is None else f"{figure:.3f}"


def show_f1(figure: float | None) -> str:
    """A macro-F1; a dash if it was not measured."""
    return NOTHING if figure is None else f"{figure:.2f}"


def show_accuracy(one: Accuracy | None) -> str:
    """An accuracy as per cent; a dash if it was not measured."""
    return NOTHING if one is None else show_share(one.accuracy, one.n)


def show_with_range(one: Accuracy | None) -> str:
    """An accuracy with its 95 % range: "88 % (80–92)"."""
    if one is None:
        return NOTHING
    low, high = one.ci95
    return f"{show_accuracy(one)} ({show_percent(low)}–{show_percent(high)})"


def say_right(one: Accuracy, objective: Objective = "accuracy", what: str = "") -> str:
    """How many are right: "105 of 120 (88 %)"; where macro-F1 decides, that first.

    Args:
        what: what `n` counts, such as " test texts".
    """
    right = f"{round(one.accuracy * one.n):,} of {one.n:,}{what} ({show_accuracy(one)})"
    if objective == "accuracy" or one.macro_f1 is None:
        return right
    return f"{right}, macro-F1 {one.macro_f1:.2f}"


def say_largest_class(figure: Accuracy | None, objective: Objective = "accuracy") -> list[str]:
    """How often the most frequent label is right on the rows of a figure; nothing if it is not known."""
    if figure is None or figure.largest_class is None:
        return []
    share = f"{ALWAYS_THE_LARGEST}: {show_share(figure.largest_class, figure.n)}"
    if objective == "accuracy" or figure.largest_class_macro_f1 is None:
        return [share]
    return [f"{share}, macro-F1 {figure.largest_class_macro_f1:.2f}"]
