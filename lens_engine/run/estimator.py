"""A classifier of texts for scikit-learn: pipelines, cross-validation, grid search."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from lens_engine.config import PresetName, SelectionConfig
from lens_engine.errors import InvalidConfig, InvalidDataset, InvalidVerbalizer
from lens_engine.model.base import LabelScorer, OpenModel, find_scorer
from lens_engine.model.local.model_files import BUNDLED_MODEL
from lens_engine.opening import open_model
from lens_engine.presets import nest_options, overlay_options, resolve_config
from lens_engine.prompt.examples import list_texts
from lens_engine.prompt.request import Texts, combine_wordings, read_instructions, read_templates
from lens_engine.prompt.verbalizer import Verbalizer, word_of_label
from lens_engine.rows.problem import Problem
from lens_engine.run.pipeline import select_support_examples
from lens_engine.types import Example, FloatArray


class LensClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of texts, made of a language model and the support examples of the task.

    `fit` runs `select_support_examples` and keeps the classifier that the run chose. It takes seconds to minutes. It
    needs ten rows, and two of each class. No row is held out: `result_.classifier_estimate` says what to expect.

    Equal rows, parameters and model give equal predictions.

    Parameters
    ----------
    model : str, Path, LanguageModel or LabelScorer
        Name of a model as `open_model` takes it, or an open model. The model named last stays in memory, so that
        cross-validation loads it once. A clone shares a `LanguageModel`; it copies another scorer. To pickle an
        estimator, or to fit in several processes, give a name.
    template : str or list of strings, default "{text} Topic: {label}."
        Pattern with one {text} and, after it, one {label}. `fit` chooses among several.
    instruction : str or list of strings, default ""
        Text that stands once before the demonstrations; empty for none. Each of several is tried with each template,
        at most 16 wordings in all.
    label_words : mapping of classes to strings, optional
        Label word of each class. By default, each class is its own word.
    preset : "quick", "standard" or "paper"
    options : mapping, optional
        Options over the preset, nested or by dotted names such as "search.beam_width".
    random_state : int, RandomState instance or None
        Seed of the run; None for that of the options, 0 by default.
    progress : bool
        Whether a bar is shown on a terminal or in a notebook.

    Attributes
    ----------
    classes_ : array [classes]
        The values of `y`, sorted.
    classifier_ : Classifier
        The classifier; `classifier_.save` writes it for `lens classify`.
    result_ : SelectionResult
        The result of the run, with the support examples.
    """

    def __init__(
        self,
        model: str | Path | LabelScorer | OpenModel = BUNDLED_MODEL,
        *,
        template: Texts | None = None,
        instruction: Texts = "",
        label_words: Mapping[Any, str] | None = None,
        preset: PresetName = "quick",
        options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.model = model
        self.template = template
        self.instruction = instruction
        self.label_words = label_words
        self.preset = preset
        self.options = options
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Iterable[str], y: Iterable[Any]) -> Self:  # noqa: N803  scikit-learn's name
        """Find the support examples, and fit the classifier.

        Args:
            X: `[rows]` texts: a list, tuple, array or Series.
            y: `[rows]` classes: strings, integers or booleans.

        Raises:
            ValueError: `X` is a table, a text is empty, a class is missing, the lengths differ, or the classes are too
                few or have too few rows. Most are an `InvalidInput`, which has field and row.
            TypeError: `X` holds something that is no text.
            LensError: as `open_model` and `select_support_examples`.
        """
        texts = list_texts(X, "X")
        if not isinstance(self.options, Mapping | None):
            raise TypeError(f"options is of type {type(self.options).__name__}; give a mapping")
        values = column_or_1d(y, warn=True)
        check_consistent_length(texts, values)
        _refuse_missing(values.tolist())
        check_classification_targets(values)
        self.classes_, codes = np.unique(values, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidDataset(f"y has {len(self.classes_)} class; a classifier needs at least two", field="y")
        words = self._list_words()
        templates, instructions = read_templates(self.template or None), read_instructions(self.instruction)
        task, alternatives = combine_wordings(Verbalizer(words), templates, instructions)
        labels = tuple(words)
        examples = [Example(row, text, labels[code]) for row, (text, code) in enumerate(zip(texts, codes, strict=True))]
        problem = Problem(task, examples, alternatives=alternatives)
        result = select_support_examples(problem, self._find_scorer(), self._make_config(), progress=self.progress)
        if result.classifier is None:
            raise InvalidConfig(
                'the run made no classifier; leave the option classifier.kind "auto", or raise the budget',
                field="options.classifier.kind",
            )
        self.result_, self.classifier_ = result, result.classifier
        return self

    def predict_proba(self, X: Iterable[str]) -> FloatArray:  # noqa: N803
        """Probability of each class  # [rows, classes], in the order of `classes_`.

        A class that the options left out as too rare has the probability 0.

        Raises:
            NotFittedError: `fit` was not called.
            ModelMismatch: `model` is another than in `fit`.
            TypeError, ValueError, LensError: as `fit`.
        """
        check_is_fitted(self, "classifier_")  # a fit that was refused has left `classes_`
        scorer = self._find_scorer() if self.classifier_.prompts else None
        found = self.classifier_.predict(list_texts(X, "X"), scorer)
        names = self._name_classes()
        probabilities = np.zeros((len(found), len(names)))
        probabilities[:, [names.index(label) for label in found.classes]] = found.probabilities
        return probabilities

    def predict(self, X: Iterable[str]) -> NDArray[Any]:  # noqa: N803
        """The most probable class of each text  # [rows], with the type of `y`.

        Raises:
            NotFittedError, ModelMismatch, TypeError, ValueError, LensError: as `predict_proba`.
        """
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _name_classes(self) -> list[str]:
        return [str(value) for value in self.classes_.tolist()]

    def _list_words(self) -> dict[str, str]:
        """Label word of each class, by its name."""
        names = self._name_classes()
        if self.label_words is None:
            return {name: word_of_label(name) for name in names}
        missing = [value for value in self.classes_.tolist() if value not in self.label_words]
        if missing:
            raise InvalidVerbalizer(
                f"class {missing[0]!r} has no label word; add it to label_words", field="label_words"
            )
        return {name: self.label_words[value] for name, value in zip(names, self.classes_.tolist(), strict=True)}

    def _find_scorer(self) -> LabelScorer:
        return find_scorer(_open_once(str(self.model)) if isinstance(self.model, str | Path) else self.model)

    def _make_config(self) -> SelectionConfig:
        usual = {"labels": {"join_spellings": False}}  # two values are two classes
        state, seed = self.random_state, dict[str, int]()
        if state is not None:
            drawn = state if isinstance(state, Integral) else check_random_state(state).randint(2**31)
            seed["seed"] = int(drawn)
        return resolve_config(self.preset, overlay_options(usual, nest_options(self.options or {}), seed))


def _refuse_missing(values: list[Any]) -> None:
    for index, value in enumerate(values):
        if value is None or (isinstance(value, float) and not isfinite(value)):
            raise InvalidDataset(f"y[{index}] is {value}; give a class, or leave the row out", field="y", row=index)


_open_once = lru_cache(maxsize=1)(open_model)
