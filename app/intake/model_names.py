"""Names of models in submissions: only those that the operator offers."""

from app.errors import UnknownModelName
from app.settings import Settings


def check_model_name(name: str | None, settings: Settings) -> str:
    """The name of an offered model; the default for None.

    Raises:
        UnknownModelName: the service does not offer the model.
    """
    model = name if name is not None else settings.default_model
    if model not in settings.offered_models:
        raise UnknownModelName.at("/spec/model", _describe_models(settings))
    return model


def _describe_models(settings: Settings) -> str:
    offered = ", ".join(settings.offered_models)
    return (
        f"this model is not offered; choose one of {offered}. The operator can offer other models with open weights "
        "(setting LENS_ALLOWED_MODELS), and models behind servers (LENS_ENDPOINTS)"
    )
