"""The figures of an evaluation: how often a classifier is right on labelled rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.macro_f1 import compare_macro_f1
from lens_engine.classifier.quality import compare_hits, measure_with_intervals
from lens_engine.evaluation.answers import Answers
from lens_engine.result.evaluation import EvaluationResult, PairedComparison
from lens_engine.retrieval.form import PromptForm
from lens_engine.rows.problem import digest_examples
from lens_engine.show.verdict import warn_of_largest_class
from lens_engine.task.wording import show_count
from lens_engine.types import Example


def measure(
    classifier: Classifier,
    examples: Sequence[Example],
    answers: Answers,
    *,
    known: Mapping[int, str] | None = None,
    notes: Sequence[str] = (),
) -> EvaluationResult:
    """The figures of an evaluation.

    Args:
        answers: of the classifier to the examples.
        known: what the selection answered, by row number; None if it judged none of the rows.
        notes: warnings on what is judged.

    Raises:
        InvalidDataset: no row has an answer.
    """
    known, figures = known or {}, answers.figures()
    unanswered, quality = len(examples) - len(figures.gold), measure_with_intervals(figures)
    too_long = [f"{show_count(unanswered, 'row', 'was')} too long and not judged"] if unanswered else []
    answered = list(zip(answers.examples, answers.labels(), strict=True))
    same = [label == known[example.row] for example, label in answered if example.row in known]
    return EvaluationResult(
        quality=quality,
        unanswered=unanswered,
        labels=classifier.labels,
        confusion=tuple(tuple(row) for row in answers.confusion().tolist()),
        comparison=_compare(known, [(one, label) for one, label in answered if label is not None], answers.classes),
        matches=all(same) if same else None,
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


def _compare(
    known: Mapping[int, str], answered: Sequence[tuple[Example, str]], labels: Sequence[str]
) -> PairedComparison | None:
    both = [(example, label) for example, label in answered if example.row in known]
    if not both:
        return None
    place_of = {label: place for place, label in enumerate(labels)}
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
