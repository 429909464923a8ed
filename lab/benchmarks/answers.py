"""Answers at once, of a service that runs on this machine. One command prints each figure with its goal:

lens up                                                                       # beside it
python -m lab.benchmarks.answers --prompt NAME --words NAME

The classifier of the first name reads a model of this machine, that of the second counts words; it may be left out.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx
import numpy as np

from lab.benchmarks.texts import generate_examples
from lens_engine.classifier.classifier import BATCH_TEXTS, Classifier
from lens_engine.opening import open_model

_IN_TURN = 100


@dataclass(frozen=True)
class Asked:
    """The classifier of a name of the service."""

    client: httpx.Client
    name: str

    def classify(self, texts: Sequence[str]) -> None:
        """Ask until texts are answered: a service that loads the model or is full answers 503 or 429.

        Raises:
            httpx.HTTPStatusError: it refuses.
        """
        body = {"inputs": list(texts), "prompts": "classifier"}
        while (answer := self.client.post(f"/prompts/{self.name}/classify", json=body)).status_code in (429, 503):
            time.sleep(float(answer.headers.get("retry-after", "1")))
        answer.raise_for_status()

    def fetch(self) -> Classifier:
        return Classifier.model_validate_json(
            self.client.get(f"/prompts/{self.name}/classifier").raise_for_status().content
        )

    def measure_one(self, texts: Sequence[str]) -> str:
        """One text after another, once the model is there."""
        self.classify(texts[:1])
        moments = [time.monotonic()]
        for text in texts:
            self.classify([text])
            moments.append(time.monotonic())
        middle, high = np.percentile(np.diff(moments), (50, 99)) * 1000
        return f"{len(texts)} in turn: p50 {middle:.1f} ms, p99 {high:.1f} ms"

    def measure_file(self, texts: Sequence[str]) -> float:
        """Texts a second, in batches one after another."""
        began = time.monotonic()
        for start in range(0, len(texts), BATCH_TEXTS):
            self.classify(texts[start : start + BATCH_TEXTS])
        return len(texts) / (time.monotonic() - began)


def measure_library(classifier: Classifier, texts: Sequence[str]) -> float:
    """Texts a second of `Classifier.predict` in this process."""
    model = classifier.model
    scorer = None if model is None else open_model(model.model, dtype=model.dtype, pair_cache_bytes=None)
    classifier.predict(texts[:1], scorer)
    began = time.monotonic()
    classifier.predict(texts, scorer)
    return len(texts) / (time.monotonic() - began)


def measure(given: argparse.Namespace) -> None:
    headers = {} if given.key is None else {"Authorization": f"Bearer {given.key}"}
    texts = [one.text for one in generate_examples("reviews", given.texts)]
    with httpx.Client(base_url=f"http://127.0.0.1:{given.port}", headers=headers, timeout=600) as client:
        asked = Asked(client, given.prompt)
        _say(f"one text, {asked.measure_one(texts[:_IN_TURN])}; goal p50 60 ms, p99 250 ms")
        if given.words is not None:
            _say(f"words, {Asked(client, given.words).measure_one(texts[:_IN_TURN])}; goal p50 10 ms")
        rate, own = asked.measure_file(texts), measure_library(asked.fetch(), texts)
    _say(f"{len(texts)} texts: {rate:.1f} a second; library {own:.1f}; ratio {rate / own:.2f}, goal at least 0.80")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser("python -m lab.benchmarks.answers", description="Answers at once.")
    add = parser.add_argument
    add("--prompt", required=True, help="name whose classifier reads a model of this machine")
    add("--words", help="name whose classifier counts words")
    add("--port", type=int, default=8000, help="of the API on this machine (default: %(default)s)")
    add("--key", help="API key, if the service asks for one")
    add("--texts", type=int, default=5000, help="texts of the file (default: %(default)s)")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
