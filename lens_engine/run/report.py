"""Report: the result of a run, from its state and its choices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lens_engine.classifier.candidates import TestedClassifier
from lens_engine.classifier.classifier import Classifier
from lens_engine.classifier.quality import measure_accuracy, measure_figures
from lens_engine.config import Use
from lens_engine.model.limits import pick_answers
from lens_engine.model.spending import TokenPrices
from lens_engine.prompt.record import TaskRecord
from lens_engine.result import (
    Answers,
    Contender,
    LabelBias,
    LabelEffect,
    Payment,
    Provenance,
    SelectionResult,
    Spending,
    SupportExample,
    SupportExamples,
    Verdict,
    Wording,
)
from lens_engine.rows.problem import digest_examples
from lens_engine.run.choices import Found
from lens_engine.run.judge import plan_rungs_of_judging, price_judging
from lens_engine.run.preparation import PreparedRun, count_rows
from lens_engine.run.propose import Proposal
from lens_engine.run.run_warnings import list_warnings
from lens_engine.run.table import Line
from lens_engine.show.verdict import add_sentences
from lens_engine.types import FloatArray, StopReason
from lens_engine.version import __version__

_GPU = "GPU "
"""How `describe_surroundings` begins the line that names the GPU."""

_LEAST_CACHED = 1024
"""Tokens of a prefix from which on vendors keep it in their cache."""


def build_result(prepared: PreparedRun, found: Found, reason: StopReason) -> SelectionResult:
    """The result of a run that ended for this reason, with its digest."""
    setup, state, meter = found.setup, found.state, prepared.meter
    chosen = found.choices.classifier
    task, report = setup.tasks[found.choices.wording], _Report(prepared, found)
    answers, contenders = tuple(report.show_prompt(use) for use in setup.uses), report.list_contenders()
    candidate = None if chosen is None or chosen.candidate is None else state.candidates[chosen.candidate]
    forms = [answer.form for answer in answers]
    result = SelectionResult(
        partial=reason is not StopReason.COMPLETED,
        stop_reason=reason,
        task=TaskRecord.of(task, setup.rows.left_out),
        support_examples=answers,
        first=found.first,
        contenders=contenders,
        wordings=tuple(Wording(template=one.template.pattern, instruction=one.instruction) for one in setup.tasks)
        if len(setup.tasks) > 1
        else (),
        pool=setup.pool if any(form.nearest for form in forms) else None,
        classifier=None if chosen is None else report.show_classifier(chosen),
        classifier_estimate=None if chosen is None else found.choices.estimate(chosen, None),
        tested=report.list_classifiers(),
        suspicious_labels=() if candidate is None else candidate.suspicious_labels,
        verdict=Verdict(sentence=""),
        answers=report.list_answers(),
        most_tokens=setup.bounds[found.choices.wording],
        opening_tokens=sum(map(meter.lengths.count, task.opening)),
        counts=count_rows(setup).model_copy(update={"near_test_rows": setup.near_test_rows}),
        cost=_show_cost(prepared, found),
        warnings=list_warnings(prepared, found, contenders, reason),
        provenance=_describe_provenance(prepared),
    )
    return add_sentences(result).with_digest()


@dataclass(frozen=True, eq=False)
class _Report:
    """Shows what was found."""

    prepared: PreparedRun
    found: Found

    def show_prompt(self, use: Use) -> SupportExamples:
        """The best prompt for a use, with the best of fixed demonstrations where it is another."""
        choices = self.found.choices
        line = choices.prompt(use)
        if line is None:
            return self._describe(use, None, self._find_fallback(), None)
        proposal = choices.proposals[line.prompt or 0]
        fixed = None
        if proposal.form.kind != "fixed" and (other := choices.prompt(use, is_fixed=True)) is not None:
            fixed = self._describe(use, other, choices.proposals[other.prompt or 0], None, is_fixed=True)
        return self._describe(use, line, proposal, fixed)

    def _find_fallback(self) -> Proposal:
        """What stands for a choice where nothing was judged: what LENS found, or else a random set."""
        proposals = self.found.choices.proposals
        by_method = {one.method: one for one in reversed(proposals)}
        return next(by_method[name] for name in ("lens", "random", "nearest", "zero_shot") if name in by_method)

    def _describe(
        self, use: Use, line: Line | None, proposal: Proposal, fixed: SupportExamples | None, *, is_fixed: bool = False
    ) -> SupportExamples:
        found, choices, task = self.found, self.found.choices, self.found.setup.tasks[proposal.wording]
        biases = None if line is None else found.find_biases(line)
        tested = None if line is None else found.test_line(line)
        labels = zip(task.labels, () if biases is None else biases.tolist(), strict=False)
        return SupportExamples(
            use=use,
            method=proposal.method,
            form=proposal.form,
            fixed=fixed,
            examples=self._show_examples(proposal),
            prompt="".join(task.render_prefix(proposal.rows)),
            label_biases=tuple(LabelBias(label=label, bias=bias) for label, bias in labels),
            judged=None if line is None else measure_figures(found.judge_line(line)),
            estimate=None if line is None else choices.estimate(line, use, is_fixed=is_fixed),
            test=None if tested is None else measure_figures(tested),
            recommended=self._recommend(line),
            reason="",
        )

    def _recommend(self, line: Line | None) -> bool | None:
        choices = self.found.choices
        if line is None or choices.first is None:
            return None
        if line is choices.first:
            return True
        return False if choices.is_clearly_behind(line) else None

    def _show_examples(self, proposal: Proposal) -> tuple[SupportExample, ...]:
        """Each demonstration, with how much it helps where LENS found that."""
        task, findings = self.found.setup.tasks[proposal.wording], self.found.findings
        tokens = self.prepared.meter.scorer.count_tokens([task.render_demonstration(one) for one in proposal.rows])
        return tuple(
            SupportExample(
                position=position,
                row=one.row,
                text=one.text,
                label=one.label,
                label_word=task.verbalizer.words[one.label],
                info_score=findings.info_scores.get(one.row),
                tokens=tokens[position],
                effects=self._list_effects(findings.gains.get(one.row)),
            )
            for position, one in enumerate(proposal.rows)
        )

    def _list_effects(self, gains: FloatArray | None) -> tuple[LabelEffect, ...] | None:
        """The mean gain `[score_examples]` of an example for the inputs of each label."""
        if gains is None:
            return None
        task, rows = self.found.setup.task, self.found.setup.lens_rows.score_set[: len(gains)]
        gold, known = task.index_labels(rows), ~np.isnan(gains)
        return tuple(
            LabelEffect(label=label, effect=float(gains[own].mean()), rows=int(own.sum()))
            for place, label in enumerate(task.labels)
            if (own := (gold == place) & known).any()
        )

    def show_classifier(self, line: Line) -> Classifier:
        """The classifier to use, with its quality on test rows, or else by cross-validation."""
        quality = measure_figures(self.found.test_line(line) or self.found.judge_line(line))
        found = {"quality": quality, "dataset_sha256": self.prepared.dataset_sha256}
        return self.found.state.candidates[line.candidate or 0].classifier.model_copy(update=found)

    def list_classifiers(self) -> tuple[TestedClassifier, ...]:
        """Every candidate for the classifier, the cheapest first."""
        found, chosen, shown = self.found, self.found.choices.classifier, list[TestedClassifier]()
        for line in found.choices.table.lines:
            if line.candidate is not None and len(line.places):
                judged, tested = measure_figures(found.judge_line(line)), found.test_line(line)
                test = None if tested is None else measure_figures(tested)
                candidate = found.state.candidates[line.candidate]
                shown.append(TestedClassifier.of(candidate, judged, test, is_chosen=line is chosen))
        return tuple(sorted(shown, key=lambda one: (one.tokens_per_input, one.tokens_held)))

    def list_contenders(self) -> tuple[Contender, ...]:
        """Every contender that was judged, the best first; then those that were asked for fewer rows."""
        table = self.found.choices.table
        lines = [line for line in table.lines if len(line.places)]
        if not lines:
            return ()
        scores = table.score(lines)
        means = scores.average(np.ones(scores.num_rows))
        order = sorted(range(len(lines)), key=lambda one: (self.found.choices.is_short(lines[one]), -means[one]))
        return tuple(self._show_contender(lines[one]) for one in order)

    def _show_contender(self, line: Line) -> Contender:
        gold = self.found.choices.table.gold[line.places]
        judged, tested = measure_accuracy(pick_answers(line.log_probs, gold), gold), self.found.test_line(line)
        about = {
            "name": line.name,
            "judged": judged,
            "is_dropped": self.found.choices.is_short(line),
            "test": tested and measure_figures(tested).model_copy(update={"shares_answered": ()}),
            "tokens": line.tokens,
            "tokens_held": line.tokens_held,
            "usd": self._price(line),
        }
        if line.prompt is None:
            candidate = self.found.state.candidates[line.candidate or 0]
            rows = candidate.classifier.prompts[0].rows if candidate.classifier.prompts else ()
            return Contender(kind="classifier", method=candidate.name, rows=rows, **about)
        proposal = self.found.choices.proposals[line.prompt]
        rows = tuple(one.row for one in proposal.rows)
        return Contender(
            kind="prompt",
            method=proposal.method,
            wording=proposal.wording,
            form=proposal.form,
            rows=rows,
            use=line.use,
            **about,
        )

    def _price(self, line: Line) -> float | None:
        """USD of 1,000 answers of a prompt at the server; a long prefix is read from its cache."""
        spending = self.prepared.meter.scorer.spending
        prices: TokenPrices | None = None if spending is None else spending.prices
        if prices is None or line.prompt is None:
            return None
        cached = round(line.tokens_held) if line.tokens_held >= _LEAST_CACHED else 0
        return round(1000 * prices.cost(round(line.tokens + line.tokens_held), 1, cached), 4)

    def list_answers(self) -> Answers:
        """Row by row: on the test rows, or else on the columns of the table."""
        found, choices, is_test = self.found, self.found.choices, bool(self.found.setup.rows.test)
        rows = found.setup.rows.test if is_test else found.setup.rows.columns
        uses, chosen = found.setup.uses, choices.classifier
        prompts = [self._list_own(choices.prompt(use), len(rows)) for use in uses]
        classifier, confidences = self._list_own(chosen, len(rows))
        has_probabilities = found.setup.has_probabilities
        return Answers(
            is_test=is_test,
            rows=tuple(one.row for one in rows),
            gold=tuple(found.setup.task.index_labels(rows).tolist()),
            support_examples=tuple(answers for answers, _ in prompts),
            classifier=classifier,
            support_examples_probabilities=tuple(one if has_probabilities else None for _, one in prompts),
            classifier_probabilities=confidences,
        )

    def _list_own(
        self, line: Line | None, num_rows: int
    ) -> tuple[tuple[int | None, ...] | None, tuple[float | None, ...] | None]:
        """The answers of a contender to the rows of the report, and their probabilities."""
        if line is None:
            return None, None
        places: Sequence[int] = range(num_rows)
        if self.found.setup.rows.test:
            figures = self.found.test_line(line)
            if figures is None:
                return None, None
        else:
            figures, places = self.found.judge_line(line), line.places.tolist()
        answers, confidences = list[int | None]([None] * num_rows), list[float | None]([None] * num_rows)
        for place, answer, confidence in zip(places, figures.answers.tolist(), figures.probabilities, strict=True):
            answers[place], confidences[place] = answer, confidence
        return tuple(answers), tuple(confidences)


def _show_cost(prepared: PreparedRun, found: Found) -> Spending:
    meter, state = prepared.meter, found.state
    return Spending(
        pairs=state.spent.pairs,
        tokens=state.spent.tokens,
        seconds=meter.limits.seconds,
        pairs_from_cache=state.pairs_from_cache,
        pairs_saved=_count_saved(found),
        permutations_judged=found.findings.num_judged,
        token_budget=meter.scorer.identity.token_budget,
        paid=Payment.of(state.paid, meter.scorer),
    )


def _count_saved(found: Found) -> int:
    """Pairs of the whole judging that were not asked, because their prompts could hardly win."""
    judging, proposals, num_rows = found.state.judging, found.choices.proposals, len(found.setup.rows.judging)
    if judging is None or judging.rungs_done < len(plan_rungs_of_judging(num_rows, len(proposals))):
        return 0
    most = price_judging(found.setup, proposals).pairs
    return max(most - sum(map(len, judging.cells.values())), 0)


def _describe_provenance(prepared: PreparedRun) -> Provenance:
    """Everything needed to repeat the run."""
    scorer = prepared.meter.scorer
    identity, problem, config = scorer.identity, prepared.problem, prepared.setup.config
    gpus = (fact.removeprefix(_GPU) for fact in scorer.surroundings if fact.startswith(_GPU))
    return Provenance(
        lens=__version__,
        model=identity.model,
        revision=identity.revision,
        dtype=identity.dtype,
        device=identity.device,
        device_name=next(gpus, None),  # none on a processor
        executor=identity.executor,
        executor_note=identity.executor_note,
        seed=config.seed,
        dataset_sha256=prepared.dataset_sha256,
        test_sha256=None if problem.test is None else digest_examples(problem.test),
        config=config.model_dump(mode="json"),
    )
