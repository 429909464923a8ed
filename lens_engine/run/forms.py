"""Forms of the prompt other than fixed demonstrations: judged on the validation rows by halving, and confirmed.

A row that is judged with demonstrations of its own shares no prefix with another, so it costs as much as it has
demonstrations. That is why the halving begins with few rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lens_engine.metering.meter import Meter
from lens_engine.plan import plan_form_rungs
from lens_engine.retrieval.form import PromptForm
from lens_engine.retrieval.pool import Retrieval
from lens_engine.retrieval.prompts import PromptRenderer
from lens_engine.rows.context import SPARE_TOKENS
from lens_engine.run.state import JudgedForm
from lens_engine.scoring.base import Prefix
from lens_engine.search.base import Run
from lens_engine.search.judgement import EvaluationRows, Judgement, judge_pairs
from lens_engine.search.lead import answer_by_use, leads_by_an_error
from lens_engine.search.objective import make_objective
from lens_engine.search.score import rank_key
from lens_engine.types import Example, LabelLogProbs, Permutation, StoredLogProbs


@dataclass(frozen=True)
class FormJudge:
    """Judges forms of the prompt.

    Args:
        permutation: the fixed demonstrations, as indices of the candidates.
        fixed: what the model said of the validation rows after them; None if a form need not lead them, or if they
            were not judged.
    """

    run: Run
    meter: Meter
    permutation: Permutation
    fixed: Judgement | None = None

    def judge(self) -> tuple[JudgedForm, ...]:
        """Every form that fits the context, the finalist first: it was judged on validation and confirmation rows.

        There is no finalist if half of the validation rows, or all, show that every form trails the fixed
        demonstrations by more than a standard error, for each use: it could hardly lead by one at the end.
        """
        forms, rows, order = self._list_fitting(), self._rows, self._rows.spread_order
        seen, left = dict[PromptForm, Judgement](), list(forms)
        for rung in plan_form_rungs(len(forms), len(rows)):
            tried = self._find_best({form: seen[form] for form in left}, rung.permutations) if seen else left
            part = rows.take(order[rung.start : rung.end])
            for form, judgement in zip(tried, self._score(tried, part), strict=True):
                seen[form] = seen[form].extend(judgement) if form in seen else judgement
            left = [form for form in tried if not self._trails(seen[form])]
            if not left:
                break
        return tuple(
            self._describe(form, seen[form], is_finalist=form in left)
            for form in sorted(forms, key=lambda form: form not in left)
        )

    def test(self, judged: JudgedForm) -> JudgedForm:
        """The form, judged on the test rows too."""
        (tested,) = self._score([judged.form], EvaluationRows(self.run.task, self.run.rows.test))
        return judged.model_copy(update={"tested": StoredLogProbs.of(tested.label_log_probs)})

    def _find_best(self, judged: Mapping[PromptForm, Judgement], number: int) -> list[PromptForm]:
        """The best of the forms, the plainest first."""
        scores = make_objective(self.run.config, self._rows, self.run.dtype).scores([*judged.values()], is_final=False)
        ranks = [rank_key((place,), score) for place, score in enumerate(scores)]
        best = sorted(range(len(ranks)), key=ranks.__getitem__)[:number]
        return [form for place, form in enumerate(judged) if place in best]

    def _trails(self, judged: Judgement) -> bool:
        """Whether the fixed demonstrations lead a form by more than a standard error, for each use."""
        if self.fixed is None or 2 * len(judged.gold) < len(self._rows):
            return False
        fixed = self.fixed.take(self._rows.spread_order[: len(judged.gold)])
        return all(
            leads_by_an_error(
                answer_by_use(fixed, use), answer_by_use(judged, use), judged.gold, self.run.config.objective
            )
            for use in self.run.uses
        )

    def _describe(self, form: PromptForm, judgement: Judgement, *, is_finalist: bool) -> JudgedForm:
        permutation = () if form.kind == "nearest" else self.permutation
        if not is_finalist:
            return JudgedForm(form=form, permutation=permutation, **_measure(judgement))
        whole = judgement.take(np.argsort(self._rows.spread_order))
        confirmation = EvaluationRows(self.run.task, self.run.rows.confirmation)
        if len(confirmation):
            (more,) = self._score([form], confirmation)
            whole = whole.extend(more)
        return JudgedForm(
            form=form,
            permutation=permutation,
            **_measure(whole),
            log_probs=StoredLogProbs.of(whole.label_log_probs),
        )

    def _score(self, forms: Sequence[PromptForm], rows: EvaluationRows) -> list[Judgement]:
        """The rows, each with its own demonstrations, for each form; all in one call, so that forwards are full."""
        prefixes = [prefix for form in forms for prefix in self._render(form, rows.texts)]
        repeated = EvaluationRows(rows.task, rows.examples * len(forms))
        judgement = judge_pairs(self.meter, prefixes, repeated)
        parts: list[LabelLogProbs] = np.split(judgement.label_log_probs, len(forms))
        return [Judgement(part, rows.gold) for part in parts]

    def _render(self, form: PromptForm, texts: Sequence[str]) -> list[Prefix]:
        fixed = [] if form.kind == "nearest" else self._fixed
        prompt = PromptRenderer.of(self.run.task, fixed, Retrieval(form=form, pool=self.run.pool))
        return [one.segments for one in prompt.begin(texts)]

    def _list_fitting(self) -> tuple[PromptForm, ...]:
        """The forms whose longest possible prompt fits the context."""
        task, rows = self.run.task, self.run.rows
        judged = (*rows.validation, *rows.confirmation, *rows.test)
        lengths = sorted(self._count([task.render_demonstration(one) for one in self.run.pool.examples]), reverse=True)
        fixed = sum(self._count([task.render_demonstration(one) for one in self._fixed]))
        beginning = sum(self._count(task.render_prefix(())))
        longest = max(self._count([task.render_query(one.text) for one in judged])) + max(self._count(task.label_spans))
        room = self.meter.scorer.max_prompt_tokens - SPARE_TOKENS - beginning - longest

        def needs(form: PromptForm) -> int:
            return sum(lengths[: form.nearest]) + fixed * (form.kind != "nearest")

        return tuple(form for form in self.run.prices.forms if needs(form) <= room)

    def _count(self, segments: Sequence[str]) -> list[int]:
        self.meter.lengths.learn(segments)
        return [self.meter.lengths.count(segment) for segment in segments]

    @cached_property
    def _rows(self) -> EvaluationRows:
        return EvaluationRows(self.run.task, self.run.rows.validation)

    @cached_property
    def _fixed(self) -> list[Example]:
        return [self.run.rows.candidates[index] for index in self.permutation]


def _measure(judgement: Judgement) -> dict[str, Any]:
    return {
        "accuracy": float(judgement.correct.mean()),
        "macro_f1": judgement.macro_f1,
        "rows": len(judgement.gold),
    }
