"""Chunks: the pieces in which a run scores. Between two of them, budget and cancel flag are checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lens_engine.metering.prices import CHUNK_TOKENS, Cost
from lens_engine.model.base import Block, LabelScorer, Prefix, find_shared


class SegmentLengths:
    """Numbers of tokens of segments, each counted once."""

    def __init__(self, scorer: LabelScorer) -> None:
        self._scorer = scorer
        self._known: dict[str, int] = {}

    def count(self, segment: str) -> int:
        if segment not in self._known:
            self.learn([segment])
        return self._known[segment]

    def learn(self, segments: Sequence[str]) -> None:
        """Tokenise all new segments at once."""
        new = [segment for segment in dict.fromkeys(segments) if segment not in self._known]
        if new:
            self._known.update(zip(new, self._scorer.count_tokens(new), strict=True))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A block, the place of its scores in the whole array, and its cost."""

    rows: slice
    columns: slice
    block: Block
    cost: Cost


def count_label_tokens(label_spans: Sequence[str], count_tokens: Callable[[str], int]) -> int:
    """Tokens that are fed after each query to score the label words; more than are fed if words begin alike.

    The last token of a word is predicted, and not fed. 77 labels of five words each take some 300.
    """
    return sum(max(count_tokens(span) - 1, 0) for span in label_spans)


@dataclass(frozen=True, slots=True)
class ChunkCutter:
    """Cuts what is scored into chunks."""

    count_tokens: Callable[[str], int]
    device: str
    label_tokens: int = 0
    """As `count_label_tokens` counts them. They decide where chunks are cut, and are not in the cost."""

    def cut(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> Iterator[Chunk]:
        """Chunks of whole prefixes. A prefix whose queries exceed a chunk is cut along its queries."""
        prefix_tokens = [sum(map(self.count_tokens, prefix)) for prefix in prefixes]
        query_tokens = [self.count_tokens(query) for query in queries]
        fed_tokens = [tokens + self.label_tokens for tokens in query_tokens]
        all_queries = sum(fed_tokens)
        for rows in _runs([tokens + all_queries for tokens in prefix_tokens], self._most_tokens):
            spans = [slice(0, len(queries))]
            if rows.stop - rows.start == 1:
                # Each cut feeds the prefix again. Chunks of long prefixes are longer, so at most an eighth is repeated.
                spans = list(_runs(fed_tokens, max(self._most_tokens, 8 * prefix_tokens[rows.start])))
            for columns in spans:
                block = Block(tuple(prefixes[rows]), tuple(queries[columns]))
                held, asked = sum(prefix_tokens[rows]), len(block.prefixes) * sum(query_tokens[columns])
                num_prefixes, num_queries = len(block.prefixes), len(block.queries)
                cost = Cost(num_prefixes * num_queries, held + asked, num_queries * held + asked, num_prefixes)
                yield Chunk(rows, columns, block, cost)

    def cut_pairs(self, prefixes: Sequence[Prefix], queries: Sequence[str]) -> Iterator[Chunk]:
        """Paired chunks: query i after prefix i alone. What all prompts of a chunk begin with counts once."""
        prompt_tokens = [
            sum(map(self.count_tokens, (*prefix, query))) for prefix, query in zip(prefixes, queries, strict=True)
        ]
        for columns in _runs([tokens + self.label_tokens for tokens in prompt_tokens], self._most_tokens):
            block = Block(tuple(prefixes[columns]), tuple(queries[columns]), is_paired=True)
            tokens, shared = sum(prompt_tokens[columns]), sum(map(self.count_tokens, find_shared(block.prefixes)))
            computed = tokens - (block.num_pairs - 1) * shared
            yield Chunk(slice(0, 1), columns, block, Cost(block.num_pairs, computed, tokens, block.num_pairs))

    @property
    def _most_tokens(self) -> int:
        return CHUNK_TOKENS.get(self.device, CHUNK_TOKENS["cpu"])


def _runs(costs: Sequence[int], most: int) -> Iterator[slice]:
    """Slices of consecutive items whose costs sum to at most `most`; each slice has at least one item."""
    start, total = 0, 0
    for index, cost in enumerate(costs):
        if index > start and total + cost > most:
            yield slice(start, index)
            start, total = index, 0
        total += cost
    if start < len(costs):
        yield slice(start, len(costs))


_MOST_SHARE = 0.99  # tokens are estimated, and a chunk is done when its scores are there


class Pace:
    """Tokens that one attempt computed, by the time that they took. What a cache had is left out, with its time.

    Of the chunk that a scorer without workers computes, the part counts that was known to be done at the last look. Of
    other scorers nothing is known before a chunk is done.
    """

    def __init__(self, scorer: LabelScorer, clock: Callable[[], float]) -> None:
        self._scorer, self._clock = scorer.computing, clock
        self._computed, self._seconds, self._began = 0, 0.0, clock()
        self._of_phase = self._computed_of_phase = 0  # tokens of finished chunks
        self._new_share = 1.0
        self._chunk, self._chunk_tokens, self._fed_before = Cost(), 1, 0
        self._seen_tokens, self._seen_seconds = 0, 0.0  # of the chunk, at the last look

    def begin_phase(self) -> None:
        """Forget how much was found: a cache may have all prompts of one phase and none of the next."""
        self._of_phase = self._computed_of_phase = 0

    def start(self) -> None:
        """The scorer begins to work."""
        self._began = self._clock()

    def begin(self, cost: Cost, label_tokens: int) -> None:
        """Note a chunk that begins. `label_tokens`: number of tokens that are fed after each query."""
        self._chunk, self._chunk_tokens = cost, max(cost.tokens + cost.pairs * label_tokens, 1)
        self._fed_before = self._scorer.fed_tokens

    def look(self) -> None:
        """See how much of the chunk under way is done."""
        if (tokens := self.done.tokens) > self._seen_tokens:
            self._seen_tokens, self._seen_seconds = tokens, self._clock() - self._began

    def end(self, tokens: int, computed: int) -> None:
        """Count a finished chunk: its tokens, and those that were computed. The others were in a cache.

        Hidden states are no tokens here: no cache has them, and they do not say what it has.
        """
        if computed:
            self._computed, self._seconds = self._computed + computed, self._seconds + self._clock() - self._began
        if tokens:
            self._of_phase, self._computed_of_phase = self._of_phase + tokens, self._computed_of_phase + computed
            self._new_share = self._computed_of_phase / self._of_phase
        self.start()
        self.stop()

    def stop(self) -> None:
        """No chunk is under way; what was done of one that was stopped counts no more."""
        self._chunk, self._seen_tokens, self._seen_seconds = Cost(), 0, 0.0

    @property
    def done(self) -> Cost:
        """The part of the chunk under way that is done, about."""
        share = min((self._scorer.fed_tokens - self._fed_before) / self._chunk_tokens, _MOST_SHARE)
        return Cost(int(self._chunk.pairs * share), int(self._chunk.tokens * share))

    @property
    def per_second(self) -> float | None:
        """Tokens per second; None before anything was computed."""
        tokens, seconds = self._computed + self._seen_tokens, self._seconds + self._seen_seconds
        return tokens / seconds if tokens > 0 and seconds > 0 else None

    def time(self, tokens: int) -> float | None:
        """Seconds that this work takes, if as large a share of it must be computed as in this phase so far.

        None if that is unknown: before anything was computed, and while all of a phase is found.
        """
        pace = self.per_second
        return tokens * self._new_share / pace if pace and (self._new_share or not tokens) else None
