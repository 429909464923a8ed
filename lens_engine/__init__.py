"""LENS: make a text classifier of a language model, from the support examples of the task.

Li & Qiu, "Finding Support Examples for In-Context Learning", Findings of EMNLP 2023. The engine is a
library: it imports nothing of the service, and imports torch only when it loads a causal language
model.
"""

import importlib
from typing import TYPE_CHECKING, Any

from lens_engine.version import __version__ as __version__

if TYPE_CHECKING:
    from lens_engine.classifier.classifier import Classifier as Classifier
    from lens_engine.config import SelectionConfig as SelectionConfig
    from lens_engine.errors import LensError as LensError
    from lens_engine.files import read_examples as read_examples
    from lens_engine.metering.estimate import CostEstimate as CostEstimate
    from lens_engine.model.local.load import load_scorer as load_scorer
    from lens_engine.model.servers.address import Endpoint as Endpoint
    from lens_engine.model.spending import TokenPrices as TokenPrices
    from lens_engine.opening import LanguageModel as LanguageModel
    from lens_engine.opening import open_model as open_model
    from lens_engine.presets import resolve_config as resolve_config
    from lens_engine.prompt.template import Task as Task
    from lens_engine.prompt.template import Template as Template
    from lens_engine.prompt.verbalizer import Verbalizer as Verbalizer
    from lens_engine.result import SelectionResult as SelectionResult
    from lens_engine.rows.problem import Problem as Problem
    from lens_engine.run.estimator import LensClassifier as LensClassifier
    from lens_engine.run.pipeline import select_support_examples as select_support_examples
    from lens_engine.run.preparation import estimate_cost as estimate_cost
    from lens_engine.run.suggest import Suggestion as Suggestion
    from lens_engine.run.suggest import suggest as suggest
    from lens_engine.show.exports import export_support_examples as export_support_examples
    from lens_engine.types import Example as Example

_HOME = {
    "Classifier": "classifier.classifier",
    "CostEstimate": "metering.estimate",
    "Endpoint": "model.servers.address",
    "Example": "types",
    "LanguageModel": "opening",
    "LensClassifier": "run.estimator",
    "LensError": "errors",
    "Problem": "rows.problem",
    "SelectionConfig": "config",
    "SelectionResult": "result",
    "Suggestion": "run.suggest",
    "Task": "prompt.template",
    "Template": "prompt.template",
    "TokenPrices": "model.spending",
    "Verbalizer": "prompt.verbalizer",
    "estimate_cost": "run.preparation",
    "export_support_examples": "show.exports",
    "load_scorer": "model.local.load",
    "open_model": "opening",
    "read_examples": "files",
    "resolve_config": "presets",
    "select_support_examples": "run.pipeline",
    "suggest": "run.suggest",
}
__all__ = tuple(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562), so that `import lens_engine` stays light."""
    if name not in _HOME:
        raise AttributeError(f"module 'lens_engine' has no attribute {name!r}")
    importlib.import_module("lens_engine.show")  # what is shown in a notebook gets its look
    return getattr(importlib.import_module(f"lens_engine.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    """The public names, imported or not, for completion."""
    return sorted({*globals(), *_HOME})
