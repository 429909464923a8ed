"""Names of forms, uses, steps and phases, and figures in words. A contender has its name from the run."""

from collections.abc import Sequence

from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Objective, Use
from lens_engine.prompt.pool import PromptForm
from lens_engine.prompt.wording import shorten, show_count, show_percent, show_share
from lens_engine.result import Contender, SupportExamples
from lens_engine.show.table import NOTHING
from lens_engine.types import HeadlineKind, Phase

HEADLINES: dict[HeadlineKind, str] = {"classifier": "Classifier", "words": "Word counting", "prompt": "Prompt"}

PROMPT_PRICE = "text to send to this model"
"""What a prompt takes, beside its figure."""

USES: dict[Use, str] = {"prompt": "as the model answers", "probabilities": "corrected"}
"""How a prompt is read."""

STEPS = {
    "search": "the search for better sets of examples",
    "judging": "a part of the judging",
    "test": "the test texts",
    "bag_of_words": "word counting",
    "embeddings": "sentence embeddings",
    "states_zero_shot": "the classifier of the model without examples",
    "states_one_prompt": "the classifier of the model after examples",
    "label_probabilities": "the classifier of label probabilities",
}
"""Steps of a run, for a list of what was left out."""


PHASES = {
    Phase.FILTER: "Sorting out",
    Phase.SEARCH: "Search",
    Phase.JUDGE: "Judging",
    Phase.FIT: "Fitting",
    Phase.TEST: "Test",
}
"""The phases of a run on a progress bar."""

_MOST_CHARACTERS = 40
"""Longest name of a label in a sentence."""

ALWAYS_THE_LARGEST = "always the most frequent label"


def name_choice(answer: SupportExamples) -> str:
    """The chosen prompt."""
    return "prompt without examples" if answer.method == "zero_shot" else "prompt"


_CLASSIFIERS = {"bag_of_words": "counting words", "embeddings": "sentence embeddings"}


def describe_form(fixed: int, form: PromptForm) -> str:
    """The examples of a prompt: "8 fixed examples", "8 similar examples", "4 fixed and 4 similar examples"."""
    own = show_count(fixed, "fixed example") if fixed else "no examples"
    if not form.nearest:
        return own
    similar = show_count(form.nearest, "similar example")
    return f"{fixed} fixed and {similar}" if form.kind == "fixed+nearest" else similar


_FORMS = {"fixed": "fixed examples", "nearest": "similar examples", "fixed+nearest": "fixed and similar examples"}


def show_option(value: object) -> str:
    """The value of an option: "none", "yes", "fixed examples, similar examples", a number or a name."""
    if isinstance(value, list):  # of forms of the prompt
        return ", ".join(str(_FORMS.get(one, one)) for one in value)
    return {"None": "none", "True": "yes", "False": "no"}.get(str(value), str(value))


def name_way(one: Contender) -> str:
    """A contender among few, as everybody reads it."""
    if one.kind == "classifier":
        return _CLASSIFIERS.get(one.method, "classifier of the model")
    return f"prompt, {describe_form(len(one.rows), one.form)}" + ", corrected" * (one.use == "probabilities")


def name_contender(one: Contender) -> str:
    """A contender, and whether label biases correct it."""
    return one.name + ", corrected" * (one.use == "probabilities")


def join_names(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def quote_label(label: str) -> str:
    """A label in a sentence; a long one is cut."""
    return f"“{shorten(label, _MOST_CHARACTERS)}”"


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


def say_expected(one: Accuracy, objective: Objective = "accuracy", *, is_test: bool) -> str:
    """How many test texts are right; or how many new ones will be, with the range. Where macro-F1 decides, that too."""
    f1 = "" if objective == "accuracy" or one.macro_f1 is None else f", macro-F1 {one.macro_f1:.2f}"
    if is_test:
        return f"right for {round(one.accuracy * one.n):,} of {one.n:,} test texts ({show_accuracy(one)}){f1}"
    return f"right for about {show_with_range(one)} of new texts{f1}"


def say_largest_class(figure: Accuracy | None, objective: Objective = "accuracy") -> list[str]:
    """How often the most frequent label is right on the rows of a figure; nothing if it is not known."""
    if figure is None or figure.largest_class is None:
        return []
    share = f"{ALWAYS_THE_LARGEST}: {show_share(figure.largest_class, figure.n)}"
    if objective == "accuracy" or figure.largest_class_macro_f1 is None:
        return [share]
    return [f"{share}, macro-F1 {figure.largest_class_macro_f1:.2f}"]
