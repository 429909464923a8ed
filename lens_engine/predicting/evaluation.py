"""How often a classifier is right on labelled rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from pydantic import Field

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.largest_class import warn_of_largest_class
from lens_engine.classifier.log_probs import LEAST_LOG_PROB
from lens_engine.classifier.macro_f1 import compare_macro_f1
from lens_engine.classifier.prompt import ModelRecord
from lens_engine.classifier.quality import MeasuredQuality, compare_hits, measure_with_intervals
from lens_engine.errors import InvalidDataset
from lens_engine.exports import FormatName
from lens_engine.judging.judgement import summarise
from lens_engine.predicting.rows import Prediction
from lens_engine.predicting.subject import Changes
from lens_engine.result import Spread
from lens_engine.retrieval.form import PromptForm
from lens_engine.rows.problem import digest_examples
from lens_engine.task.unicode_form import fold_label
from lens_engine.task.wording import show_count
from lens_engine.types import Example, Record


class PairedComparison(Record):
    """The answers of an evaluation beside those of the selection, on the rows that both judged."""

    n: int = Field(description="Number of rows that both judged.")
    only_evaluation_right: int = Field(description="Number of rows that only the evaluation has right.")
    only_selection_right: int = Field(description="Number of rows that only the selection had right.")
    p_value: float = Field(description="p-value of the exact McNemar test, two-sided.")
    same_answers: int = Field(description="Number of rows with the same answer.")
    macro_f1: float = Field(description="Macro-F1 of the evaluation minus that of the selection on these rows.")
    macro_f1_error: float = Field(description="Standard error of this difference, by the jackknife, paired by row.")


class EvaluationResult(Record):
    """How often a classifier, or the prompt of support examples, is right on labelled rows."""

    quality: MeasuredQuality = Field(description="Quality on the rows that have an answer, with intervals.")
    unanswered: int = Field(description="Number of rows without an answer: they exceed the context of the model.")
    labels: tuple[str, ...] = Field(description="Labels, in the order of `confusion`.")
    confusion: tuple[tuple[int, ...], ...] = Field(
        description="Number of rows with each label (first index) and each answer (second index)."
    )
    comparison: PairedComparison | None = Field(
        description="Paired with the answers of the selection; null if it judged none of the rows."
    )
    matches: bool | None = Field(
        description="Whether every row that the selection judged has the answer that it had there; null if it judged "
        "none of the rows."
    )
    order: Spread | None = Field(description="Accuracy of the same demonstrations in other orders.")
    form: FormatName | None = Field(description="Format of exports whose turns were asked; null for the template.")
    prompt_form: PromptForm | None = Field(
        None, description="How the demonstrations of an input were found; null for a bag of words."
    )
    prompts: int = Field(description="Number of prompts asked for one row.")
    model: ModelRecord | None = Field(description="The language model that was asked; null for a bag of words.")
    dataset_sha256: str = Field(description="SHA-256 of the texts and labels of the rows, in order.")
    warnings: tuple[str, ...] = Field((), description="What may surprise.")


def join_labels(labels: Sequence[str], examples: Sequence[Example]) -> list[Example]:
    """The rows with the classifier's own labels, where theirs differ in case, spaces or Unicode form.

    Raises:
        InvalidDataset: a row has a label that the classifier does not know.
    """
    label_of = {fold_label(label): label for label in reversed(labels)} | {label: label for label in labels}
    joined = list[Example]()
    for example in examples:
        label = label_of.get(example.label) or label_of.get(fold_label(example.label))
        if label is None:
            raise InvalidDataset(
                f"{example.place} has the label {example.label!r}, which the selection did not have; its labels are "
                f"{', '.join(labels[:10])}{', …' * (len(labels) > 10)}; leave the row out, or select with this label",
                field="dataset.label",
                row=example.row,
            )
        joined.append(replace(example, label=label))
    return joined


def measure(
    classifier: Classifier,
    changes: Changes,
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    *,
    known: Mapping[int, str] | None = None,
    order: Spread | None = None,
    notes: Sequence[str] = (),
) -> EvaluationResult:
    """The figures of an evaluation.

    Args:
        predictions: one for each example.
        known: what the selection answered, by row number; None if it judged none of the rows.
        order: accuracies of other orders.
        notes: warnings on what is judged.

    Raises:
        InvalidDataset: no row has an answer, or one has a label that the classifier does not know.
    """
    known = known or {}
    place_of = {label: place for place, label in enumerate(classifier.labels)}
    probabilities = np.empty((len(predictions), len(place_of)))  # [rows, labels]
    rows = list[tuple[Example, str | None]]()
    answered = list[tuple[Example, str]]()
    for example, one in zip(join_labels(classifier.labels, examples), predictions, strict=True):
        rows.append((example, one.label))
        if one.label is not None:
            probabilities[len(answered)] = one.probabilities
            answered.append((example, one.label))
    if not answered:
        raise InvalidDataset("every row exceeds the context of the model; shorten the texts", field="dataset")
    gold = np.array([place_of[example.label] for example, _ in answered], dtype=np.intp)
    log_probs = probabilities[: len(answered)]
    np.log(log_probs.clip(min=np.exp(LEAST_LOG_PROB), out=log_probs), out=log_probs)  # may have 160 MB: no copies
    confusion = np.zeros((len(place_of), len(place_of)), dtype=np.intp)
    np.add.at(confusion, (gold, log_probs.argmax(axis=1)), 1)
    unanswered, quality = len(examples) - len(answered), measure_with_intervals(log_probs, gold)
    too_long = [f"{show_count(unanswered, 'row', 'was')} too long and not judged"] if unanswered else []
    same = [label == known[example.row] for example, label in rows if example.row in known]
    return EvaluationResult(
        quality=quality,
        unanswered=unanswered,
        labels=classifier.labels,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        comparison=_compare(known, answered, place_of),
        matches=all(same) if same else None,
        order=order,
        form=changes.form,
        prompt_form=_form_of(classifier),
        prompts=len(classifier.prompts),
        model=classifier.model,
        dataset_sha256=digest_examples(examples),
        warnings=(*notes, *too_long, *warn_of_largest_class([quality])),
    )


def _form_of(classifier: Classifier) -> PromptForm | None:
    if not classifier.prompts:
        return None
    return PromptForm() if classifier.retrieval is None else classifier.retrieval.form


def measure_orders(examples: Sequence[Example], answers: Sequence[Sequence[Prediction]]) -> Spread:
    """The accuracies of other orders, on the rows that every order answers.

    Args:
        examples: with the classifier's own labels, of `join_labels`.
        answers: predictions of each order, one for each example.

    Raises:
        InvalidDataset: no row is answered by all.
    """
    columns = [column for column in zip(examples, *answers, strict=True) if all(one.label for one in column[1:])]
    if not columns:
        raise InvalidDataset("every row exceeds the context of the model; shorten the texts", field="dataset")
    hits = np.array([[one.label == example.label for one in own] for example, *own in columns])
    return summarise(hits.mean(axis=0).tolist(), len(columns))


def _compare(
    known: Mapping[int, str], answered: Sequence[tuple[Example, str]], place_of: Mapping[str, int]
) -> PairedComparison | None:
    """
    Args:
        place_of: the place of each label.
    """
    both = [(example, label) for example, label in answered if example.row in known]
    if not both:
        return None
    places = [(place_of[label], place_of[known[one.row]], place_of[one.label]) for one, label in both]
    own, theirs, gold = np.array(places, dtype=np.intp).T
    hits = compare_hits(own == gold, theirs == gold)
    return PairedComparison(
        n=len(both),
        only_evaluation_right=hits.only_first,
        only_selection_right=hits.only_second,
        p_value=hits.p_value,
        same_answers=int((own == theirs).sum()),
        **compare_macro_f1(own, theirs, gold),
    )
