"""A job over the devices of a Ray cluster: LENS_RAY_ADDRESS. Connect after the fork, since Ray does not survive one.

A connection ends with its process, however that ends, and Ray then ends the actors of the connection.
"""

from app.settings import Settings
from lens_engine.cluster.placement import find_place
from lens_engine.cluster.scorer import RayScorer
from lens_engine.errors import InvalidConfig
from lens_engine.open_model import LanguageModel
from lens_engine.scoring.cache.scorer import remember_pairs
from worker.device import Device, UnfitWorker

THIS_MACHINE = "local"
"""The address for which Ray is started on the worker's machine, anew for each job."""


def find_cluster(settings: Settings) -> Device:
    """The devices of the cluster, as one. Neither the model's files nor torch are needed here.

    Raises:
        UnfitWorker: Ray is not installed, or the cluster does not answer or has too few devices.
    """
    try:
        with find_place(settings.ray_address, settings.ray_actors, settings.device) as place:
            return Device(torch_name=place.device, name=f"Ray ({place.actors} actors)")
    except InvalidConfig as error:
        raise UnfitWorker(f"LENS_RAY_ADDRESS is {settings.ray_address}, and {error}") from error


def open_on_cluster(
    settings: Settings, reference: str, *, name: str, dtype: str, pair_cache_bytes: int | None, is_search: bool
) -> LanguageModel:
    """As `open_model`, in actors. A single one is enough for rows, which are asked in one call for each batch.

    Raises:
        LensError: as `RayScorer.start`.
    """
    scorer = RayScorer.start(
        reference,
        actors=settings.ray_actors if is_search else 1,
        address=settings.ray_address,
        dtype=dtype,
        device=settings.device,
        name=name,
    )
    if pair_cache_bytes is None:
        return LanguageModel(scorer)
    return LanguageModel(remember_pairs(scorer, pair_cache_bytes, settings.cache_dir))
