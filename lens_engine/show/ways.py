"""Ways to answer, each with the one figure that box, chart, page and terminal show of it."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from statistics import fmean
from typing import NamedTuple

from lens_engine.classifier.candidates import WITHOUT_MODEL
from lens_engine.classifier.quality import Accuracy
from lens_engine.config import Use
from lens_engine.prompt.wording import show_count
from lens_engine.result import Contender, Estimate, SelectionResult, SupportExamples
from lens_engine.show.words import ALWAYS_THE_LARGEST, name_way

_AS_JUDGED = "* on the rows that judged it, not corrected for choosing"


class Way(NamedTuple):
    """One way to answer, and how often it is right."""

    name: str
    figure: Accuracy
    contender: Contender | None = None  #: one of those of a mean; None for the most frequent label
    is_first: bool = False  #: whether it is what to use
    is_raw: bool = False  #: whether the figure is of the rows that judged it, though others are estimates
    is_short: bool = False  #: whether it was judged on fewer rows than the first choice; the name has their number

    @property
    def title(self) -> str:
        """The name, with a mark that `explain_marks` explains."""
        return self.name + " *" * self.is_raw


def find_reading(answer: SupportExamples) -> Use:
    """How a prompt is read for its use: without biases, as the model answers."""
    return answer.use if answer.label_biases else "prompt"


def list_chosen(result: SelectionResult) -> list[Contender]:
    """The prompt for each use, and the classifier to use."""
    prompts = (one for answer in result.support_examples for one in _find_prompt(result, answer))
    return list({id(one): one for one in (*prompts, *_find_classifier(result))}.values())


def _find_prompt(result: SelectionResult, answer: SupportExamples) -> Iterator[Contender]:
    """The contender that a prompt is; none if it was not judged."""
    wording = (result.task.template, result.task.instruction)
    places = [place for place, one in enumerate(result.wordings) if (one.template, one.instruction) == wording] or [0]
    way = (find_reading(answer), answer.form, answer.method, answer.rows)
    prompts = (one for one in result.contenders if one.kind == "prompt" and one.wording in places)
    return islice((one for one in prompts if (one.use, one.form, one.method, one.rows) == way), 1)


def _find_classifier(result: SelectionResult) -> Iterator[Contender]:
    chosen = result.chosen
    own = None if chosen is None else (chosen.name, chosen.cross_validated.accuracy)
    return islice((one for one in result.contenders if one.judged and (one.method, one.judged.accuracy) == own), 1)


def find_estimate_of(result: SelectionResult, one: Contender) -> Estimate | None:
    """What to expect of a contender that was chosen, for a use or as a fixed form; None for every other."""
    if one in _find_classifier(result):
        return result.classifier_estimate
    answers = (own for answer in result.support_examples for own in (answer, answer.fixed) if own is not None)
    return next((own.estimate for own in answers if one in _find_prompt(result, own)), None)


def list_ways(result: SelectionResult) -> list[Way]:
    """What was chosen, and what it is compared with, the most often right first; last the most frequent label.

    Where the first choice has test rows, every figure is of them. Else it is what to expect of a choice, and of what
    was not chosen the figure of the rows that judged it. What was judged on fewer rows stands behind.
    """
    found, first = dict[str, Way](), find_first(result)
    for way in (_measure(result, one, is_first=one is first) for one in _list_compared(result)):
        if way is not None:
            found.setdefault(way.name, way)
    if not found:
        return []
    uses = () if result.is_tested else dict.fromkeys(map(find_reading, result.support_examples))
    averages = (average_random(result, use) for use in uses)
    ways = sorted([*found.values(), *chain(*averages)], key=lambda way: (way.is_short, -way.figure.accuracy))
    largest = next(iter(found.values())).figure
    if (share := largest.largest_class) is not None:
        ways.append(Way(ALWAYS_THE_LARGEST, largest.model_copy(update={"accuracy": share, "ci95": (share, share)})))
    return ways


def list_read(result: SelectionResult) -> list[Way]:
    """The ways, of the prompts those alone that are read as the prompt of the run is."""
    uses = (None, find_reading(result.answer))
    return [one for one in list_ways(result) if one.contender is None or one.contender.use in uses]


def explain_marks(ways: Iterable[Way]) -> tuple[str, ...]:
    """What the mark of a title says; nothing without one."""
    return (_AS_JUDGED,) if any(one.is_raw for one in ways) else ()


def _measure(result: SelectionResult, one: Contender, *, is_first: bool) -> Way | None:
    """A contender with its figure; None without one, or if it was not chosen and judged on few rows alone."""
    if result.is_tested:
        return None if one.test is None else Way(name_way(one), one.test, one, is_first)
    estimate = find_estimate_of(result, one)
    figure = estimate or (None if one.is_dropped else one.judged)
    if figure is None:
        return None
    name = name_way(one) + f" ({show_count(figure.n, 'row')})" * one.is_dropped
    return Way(name, figure, one, is_first, is_raw=estimate is None, is_short=one.is_dropped)


def find_first(result: SelectionResult) -> Contender | None:
    """The contender to use; None if nothing was judged."""
    is_prompt = result.first == "prompt"
    found = _find_prompt(result, result.answer) if is_prompt else (*_find_classifier(result), *result.contenders)
    return next((one for one in found if one.headline == result.first), None)


def _list_compared(result: SelectionResult) -> Iterator[Contender]:
    """What was chosen, the first choice first; the fixed forms, classifiers without a language model, no examples."""
    yield from filter(None, [find_first(result)])
    yield from list_chosen(result)
    for answer in result.support_examples:
        yield from () if answer.fixed is None else _find_prompt(result, answer.fixed)
    uses = {find_reading(one) for one in result.support_examples}
    for one in result.contenders:
        if one.method in WITHOUT_MODEL or (one.method == "zero_shot" and one.use in uses):
            yield one


def average_random(result: SelectionResult, use: Use) -> Iterator[Way]:
    """The mean of the random sets, as they are read, on judging rows; nothing if each was judged on few rows.

    Those that were dropped count, because the others are no average sets.
    """
    own = [one for one in result.contenders if (one.method, one.use, one.form.kind) == ("random", use, "fixed")]
    judged = [one.judged for one in own if one.judged is not None]
    if judged and not all(one.is_dropped for one in own):
        mean = fmean(one.accuracy for one in judged)
        name = "prompt, random examples" + ", corrected" * (use == "probabilities")
        figure = Accuracy(accuracy=mean, n=max(one.n for one in judged), ci95=(mean, mean))
        yield Way(name, figure, own[0], is_raw=True)
