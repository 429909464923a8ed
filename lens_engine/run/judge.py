"""Judge: the judging rows after each proposed prompt, rung by rung; what cannot win is dropped.

Every prompt is asked for an eighth of the rows (twelve at least), those that are left for a quarter, for a half, and
for all. After each rung a prompt goes whose chance of being chosen, by the bootstrap over rows, is under 1 %, and some
more go, so that the cost is known before; the best stays, whatever it costs. Where it could hardly lead by a point,
only it and what stays in any case go on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lens_engine.metering.meter import Meter
from lens_engine.metering.prices import Cost
from lens_engine.method.judgement import EvaluationRows, judge, judge_pairs
from lens_engine.method.setup import Setup
from lens_engine.prompt.pool import PromptRenderer, Retrieval
from lens_engine.randomness import make_generator
from lens_engine.rows.plan import Rung
from lens_engine.run.propose import Proposal, price_prompt
from lens_engine.run.table import Table
from lens_engine.types import Example, LabelLogProbs, Phase

Cells = Mapping[int, LabelLogProbs]
"""Log-probabilities `[rows, labels]` of the first judging rows after each prompt, by its place."""

_LEAST_CHANCE = 0.01
_LEAST_GAIN = 0.01
_FIRST_ROWS = 12
"""Fewest rows of the first rung: fewer tell nothing."""

_LEFT = (1 / 3, 1 / 6, 1 / 8)
"""Largest share of the prompts that is left after each rung but the last."""

_ALWAYS_LEFT = 6
"""A share is never cut below this. Fewer are left where others cannot win, or are those that stay in any case."""

_BLOCK = 8
"""Fixed prompts that are asked at a time, between two checkpoints."""


@dataclass(frozen=True)
class Judging:
    """What the judging has found by now."""

    cells: Cells
    left: tuple[int, ...]  #: places of the prompts that are not dropped
    rungs_done: int = 0


@dataclass(frozen=True)
class Judge:
    """Judges prompts for one run."""

    setup: Setup
    meter: Meter
    proposals: Sequence[Proposal]

    def start(self) -> Judging:
        return Judging({}, tuple(range(len(self.proposals))))

    def finish(self, state: Judging, save: Callable[[Judging], None]) -> Judging:
        """Do the remaining rungs, and call `save` after each block of prompts.

        Raises:
            Stopped: from the meter; what was saved last stays valid.
        """
        rungs = plan_rungs_of_judging(len(self.setup.rows.judging), len(self.proposals))
        for number, rung in enumerate(rungs):
            if number < state.rungs_done:
                continue
            self.meter.enter(Phase.JUDGE, number + 1, len(rungs))
            for places in self._cut(state, rung):
                for block in [places] if self._affords(places, rung) else [[one] for one in places]:
                    state = self._ask(state, block, rung)
                    save(state)
            left = self._drop(state, rungs[number + 1].permutations) if rung is not rungs[-1] else state.left
            state = Judging(state.cells, left, number + 1)
            save(state)
        return state

    def _cut(self, state: Judging, rung: Rung) -> list[list[int]]:
        """The prompts of a rung that are not asked yet, in blocks: fixed ones of a wording and a size together.

        A limit may end the run within a block, whose answers are lost then; so no cheap prompt waits for a large one.
        """
        todo = [one for one in state.left if len(state.cells.get(one, ())) < rung.end]
        blocks = list[list[int]]()
        for one in todo:
            proposal = self.proposals[one]
            if blocks and not proposal.form.nearest:
                last = self.proposals[blocks[-1][0]]
                is_alike = (last.wording, len(last.rows)) == (proposal.wording, len(proposal.rows))
                if not last.form.nearest and is_alike and len(blocks[-1]) < _BLOCK:
                    blocks[-1].append(one)
                    continue
            blocks.append([one])
        return blocks

    def _affords(self, places: Sequence[int], rung: Rung) -> bool:
        """Whether the budget covers a block: answers of one that it ends are lost."""
        costs = (price_prompt(self.setup, self.proposals[one], rung.end - rung.start) for one in places)
        return self.meter.affords(sum(costs, Cost()))

    def _ask(self, state: Judging, places: Sequence[int], rung: Rung) -> Judging:
        examples = self.setup.rows.judging[rung.start : rung.end]
        found = ask_prompts(self.setup, self.meter, [self.proposals[one] for one in places], examples)
        cells = dict(state.cells)
        for place, block in zip(places, found, strict=True):
            cells[place] = np.concatenate([cells[place], block]) if place in cells else block
        return Judging(cells, state.left, state.rungs_done)

    def _drop(self, state: Judging, most: int) -> tuple[int, ...]:
        """The prompts that go on. The best for each use does in any case; so do, in its wording, no examples and a
        random set, with which it is compared, and the best fixed prompt, which a result has beside nearest rows."""
        table = Table.of(self.setup, self.proposals, state.cells)
        rng = make_generator(self.setup.config.seed, "judge", state.rungs_done)
        fixed = [one for one in state.left if not self.proposals[one].form.nearest]
        first = {(self.proposals[one].method, self.proposals[one].wording): one for one in fixed[::-1]}
        kept, is_open = set[int](), False
        chances = dict.fromkeys(state.left, 0.0)
        for use in self.setup.uses:
            lines = [line for line in table.lines if line.use == use and line.prompt in state.left]
            scores = table.score(lines)
            is_open |= scores.what_is_left_to_gain(rng) > _LEAST_GAIN
            best_shares, chosen_shares = scores.chances(rng)
            places = [line.prompt or 0 for line in lines]
            asked, best = [self.proposals[one] for one in places], int(best_shares.argmax())
            wording = asked[best].wording
            is_fixed = [not one.form.nearest and one.wording == wording for one in asked]
            kept |= {first[name, wording] for name in ("zero_shot", "random") if (name, wording) in first}
            ranked = zip(is_fixed, scores.means(np.ones((1, scores.num_rows)))[0], places, strict=True)
            kept |= {places[best], max(ranked, key=lambda one: one[:2])[2]}
            for place, chance in zip(places, chosen_shares, strict=True):
                chances[place] = max(chances[place], float(chance))
        others = sorted(set(state.left) - kept, key=lambda one: (-chances[one], one)) if is_open else []
        likely = [one for one in others if chances[one] >= _LEAST_CHANCE]
        kept |= set(likely[: max(most - len(kept), 0)])
        return tuple(one for one in state.left if one in kept)


def ask_prompts(
    setup: Setup, meter: Meter, proposals: Sequence[Proposal], examples: Sequence[Example]
) -> list[LabelLogProbs]:
    """`[rows, labels]` of each prompt. Fixed prompts of one wording are asked in one call."""
    task = setup.tasks[proposals[0].wording]
    meter.use_label_spans(task.label_spans)
    rows = EvaluationRows(task, tuple(examples))
    if not proposals[0].form.nearest:
        prefixes = [task.render_prefix(one.rows) for one in proposals]
        return [one.label_log_probs for one in judge(meter, prefixes, rows)]
    (one,) = proposals
    prompt = PromptRenderer.of(task, one.rows, Retrieval(form=one.form, pool=setup.pool))
    return [judge_pairs(meter, [found.segments for found in prompt.begin(rows.texts)], rows).label_log_probs]


def plan_rungs_of_judging(num_rows: int, num_prompts: int) -> list[Rung]:
    """The rungs: which rows, and how many prompts at most."""
    ends = [0]
    for part in (8, 4, 2, 1):
        end = max(-(-num_rows // part), min(_FIRST_ROWS, num_rows))
        if end >= 1.5 * ends[-1] or part == 1:
            ends.append(end)
    ends = list(dict.fromkeys(ends))
    shares = (1.0, *_LEFT)[: len(ends) - 1]
    return [
        Rung(max(round(share * num_prompts), min(_ALWAYS_LEFT, num_prompts)), start, end)
        for share, (start, end) in zip(shares, pairwise(ends), strict=True)
    ]


def price_judging(setup: Setup, proposals: Sequence[Proposal], state: Judging | None = None) -> Cost:
    """The most that the judging costs, or what is left of it in this state, if what goes is what is cheap."""
    state, total = state or Judging({}, tuple(range(len(proposals)))), Cost()
    for rung in plan_rungs_of_judging(len(setup.rows.judging), len(proposals))[state.rungs_done :]:
        todo = [proposals[one] for one in state.left if len(state.cells.get(one, ())) < rung.end]
        costs = [price_prompt(setup, one, rung.end - rung.start) for one in todo]
        total = sum(sorted(costs, key=lambda cost: -cost.tokens)[: rung.permutations], total)
    return total
