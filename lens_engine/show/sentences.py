"""Sentences about a result, and the result as text."""

import json

from lens_engine.classifier.suspicion import MOST_SUSPICIOUS
from lens_engine.result import Payment, SelectionResult, SupportExamples
from lens_engine.show.figures import list_figures
from lens_engine.show.tables import list_shown, tabulate_examples
from lens_engine.show.words import describe_figure, name_choice, say_largest_class
from lens_engine.task.chat import join_system
from lens_engine.task.record import TaskRecord
from lens_engine.task.wording import describe_seconds, describe_usd, show_count

_WHY_NOT = {"bag_of_words": ": a bag of words, which needs no language model, "}
_ASK_ONLY = " where the classifier can be used: it "
_IS_BETTER = {"accuracy": "is more often right", "macro_f1": "has the higher macro-F1"}

_MOST_ROWS = 16
"""Largest number of support examples whose rows stand on one line."""


def summarise(result: SelectionResult) -> str:
    """What to use, accuracies with those of the rivals, support examples in order, and cost, as text."""
    answer = result.answer
    opening = (warn_of_examples(result), describe_choice(result), describe_retrieval(result, answer))
    examples = [tabulate_examples(one, is_other=is_other) for one, is_other in list_shown(answer)]
    tables = (one.as_text() for one in (*examples, *list_figures(result)))
    closing = (describe_ranking_rows(result), describe_suspicious_labels(result), describe_asking(result.task))
    notes = (f"note: {warning}" for warning in result.warnings)
    parts = (*opening, *tables, *closing, *notes, describe_cost(result), f"digest {result.digest}")
    return "\n\n".join(filter(None, parts))


def represent(result: SelectionResult) -> str:
    """What to use, support examples, classifier, cost and digest: a line each."""
    rows, test = result.rows, result.test
    form = f"{result.answer.form.name}, " * (result.answer.form.nearest > 0)
    shown = ", ".join(map(str, rows[:_MOST_ROWS])) + (f" and {len(rows) - _MOST_ROWS} more" * (len(rows) > _MOST_ROWS))
    figure = "not tested"
    if test is not None:
        told = f"accuracy {test.accuracy:.3f}, macro-F1 {test.macro_f1 or 0.0:.3f} on {test.n} test rows"
        figure = "; ".join([told, *say_largest_class(test)])
    return "\n".join(
        [
            f"SelectionResult: {describe_choice(result)}",
            f"{name_choice(result.answer)}: {form}rows {shown or '–'}; {figure}",
            f"classifier: {result.classifier or 'none'}",
            describe_cost(result),
            f"digest {result.digest}",
        ]
    )


def warn_of_examples(result: SelectionResult) -> str:
    """That the support examples are not recommended, and why; nothing if they are."""
    if result.answer.best is None or result.answer.recommended:
        return ""
    why = _WHY_NOT.get(result.answer.best.name, _ASK_ONLY)
    name, is_fixed = name_choice(result.answer), not result.answer.form.nearest
    verb = "are" if result.examples and is_fixed else "is"  # without demonstrations it is one prompt
    return f"The {name}{' below' * is_fixed} {verb} not recommended{why}{_IS_BETTER[result.objective]}."


def describe_choice(result: SelectionResult) -> str:
    """Which classifier to use, and how good the prompt is; for a run that was stopped, after the reason."""
    return f"{result.verdict.sentence} {result.answer.reason}"


def describe_ranking_rows(result: SelectionResult) -> str:
    """Accuracy or macro-F1 on the rows that decided the choice. Test rows had no part in the choice."""
    judged, comparison = result.answer.judged, result.answer.comparison
    if judged is None:
        return ""
    name = name_choice(result.answer)
    reached = describe_figure(judged.accuracy, judged.macro_f1, result.objective)
    told = f"The {name} reached {reached} on the {judged.n} rows that decided (optimistic)"
    text = "; ".join([told, *say_largest_class(judged, result.objective)]) + "."
    if comparison is None or result.answer.method == "random_and_validation":
        return text
    differs = f"macro-F1 {comparison.macro_f1:+.3f} (standard error {comparison.macro_f1_error:.3f})"
    test = f"p = {comparison.p_value:.2g} (exact McNemar test)"
    return f"{text} Against random-and-validation, on the test rows: {test}, {differs}."


def describe_suspicious_labels(result: SelectionResult) -> str:
    """How many rows have a label that is probably wrong; nothing without any."""
    number = len(result.suspicious_labels)
    if not number:
        return ""
    found = f"{show_count(number, 'row', 'has')} a label that the classifier contradicts with confidence"
    return f"{found}{' (the most that are listed)' * (number == MOST_SUSPICIOUS)}."


def describe_retrieval(result: SelectionResult, answer: SupportExamples) -> str:
    """How a prompt finds demonstrations for each input; nothing for a fixed form."""
    number = answer.form.nearest
    if not number:
        return ""
    rows = "similar rows of the pool" if result.pool is None else f"similar of {len(result.pool.rows):,} rows"
    found = f"the {number} most {rows}, nearest last"
    if answer.form.kind == "nearest":
        return f"For each input the prompt shows {found}."
    return f"The prompt shows the support examples, then for each input {found}."


def describe_asking(task: TaskRecord) -> str:
    """How the model is asked as a chat, or the instruction and what ends the label words; nothing without either."""
    if task.chat is not None:
        written = json.dumps(task.chat.fields, ensure_ascii=False)
        fields = f"Further fields of each request: {written}. " if task.chat.fields else ""
        return (
            "The model is asked by turns of a chat: the template up to the label word by the user, the label word by "
            f"the assistant. {fields}The system message: {join_system(task.instruction, task.chat.system)!r}"
        )
    told = [f"The instruction before all demonstrations: {task.instruction!r}."] if task.instruction else []
    if task.label_end:
        told.append(
            "The tokens of one label word begin those of another, so each is scored with what ends it in a prompt: "
            f"{task.label_end!r}."
        )
    return " ".join(told)


def describe_cost(result: SelectionResult) -> str:
    """Pairs, tokens, permutations and time, and the model."""
    cost, origin = result.cost, result.provenance
    device = origin.device_name or origin.device
    found = f" ({cost.pairs_from_cache:,} from the pair cache)" if cost.pairs_from_cache else ""
    eliminated = f" ({cost.permutations_dropped:,} of them in part)" if cost.permutations_dropped else ""
    return (
        f"{cost.pairs:,} pairs{found}, {cost.tokens:,} tokens and "
        f"{cost.permutations_judged:,} permutations{eliminated} "
        f"in {describe_seconds(cost.seconds)}{_describe_payment(cost.paid)}, "
        f"by {origin.model} ({origin.dtype}, {device}, seed {origin.seed})"
    )


def _describe_payment(paid: Payment | None) -> str:
    """Requests and tokens as the server counted them, and what they cost; nothing for a model on this machine."""
    if paid is None:
        return ""
    cached = f" ({paid.cached_tokens:,} cached)" if paid.cached_tokens else ""
    money = "" if paid.usd is None else f" for {describe_usd(paid.usd)}"
    return f", {show_count(paid.requests, 'request')} of {paid.tokens:,} tokens{cached}{money}"
