"""What the API's process answers itself: words, and models behind servers. It loads no torch for it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from app.answering.client import AnswersClient, AskingMetrics
from app.errors import ModelLoading, ModelUnusable
from app.settings import Settings
from lens_engine.classifier.classifier import Classifier
from lens_engine.evaluation.rows import Prediction, predict_rows
from lens_engine.opening import open_model
from lens_engine.reading import TextRow
from lens_engine.servers.address import Endpoint
from lens_engine.testing import TableScorer
from tests.endpoints.double import Double, HashBehind
from tests.endpoints.serving import serving
from tests.integration.samples import make_bag_of_words
from tests.subjects import make_classifier

TEXTS = ["a warm film", "a dull one"]


def ask(settings: Settings, classifier: Classifier, registry: CollectorRegistry) -> list[Prediction]:
    async def ask_until_open() -> list[Prediction]:
        client = AnswersClient(settings, AskingMetrics(registry))
        try:
            subject = await client.find_subject(("name", "1"), lambda: classifier)
            while True:
                try:
                    return await client.ask(subject, TEXTS, "prompt")
                except ModelLoading:
                    await asyncio.sleep(0.01)
        finally:
            await client.close()

    return asyncio.run(ask_until_open())


def test_words_are_counted_and_a_server_is_asked_without_another_process_and_both_are_counted(tmp_path: Path) -> None:
    registry, words = CollectorRegistry(), make_bag_of_words()
    with serving(Double(HashBehind())) as double:
        endpoint = Endpoint("vllm", double.url, "served")
        settings = Settings(_env_file=None, answers_addresses=(), endpoints={"ours": endpoint}, cache_dir=tmp_path)
        scorer: Any = open_model(endpoint, name="ours", cache_dir=tmp_path, pair_cache_bytes=None).scorer
        served = make_classifier(scorer)
        rows = [TextRow(text) for text in TEXTS]

        assert ask(settings, served, CollectorRegistry()) == predict_rows(served, rows, scorer)
        assert ask(settings, words, registry) == predict_rows(words, rows, None)
        scorer.close()
    assert registry.get_sample_value("lens_answers_total", {"contender": "prompt", "outcome": "answered"}) == 2
    assert registry.get_sample_value("lens_answers_batch_texts_sum") == 2


def test_model_that_is_offered_no_more_is_refused() -> None:
    registry = CollectorRegistry()
    with pytest.raises(ModelUnusable, match="model 'table' is no longer one of smollm2-135m-instruct") as refused:
        ask(Settings(_env_file=None), make_classifier(TableScorer()), registry)
    assert (refused.value.status, refused.value.code) == (409, "unknown-model")
    labels = {"contender": "prompt", "outcome": "unknown-model"}
    assert registry.get_sample_value("lens_answers_total", labels) == 2
