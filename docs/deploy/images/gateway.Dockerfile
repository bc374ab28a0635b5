# The image of a gateway, without Spark and Java. From the root of the clone:
#   docker build -f docs/deploy/images/gateway.Dockerfile -t sluicemq-gateway:0.1.0 .
# To pin what it stands on to the byte: --build-arg PYTHON=python@sha256:…
ARG PYTHON=python:3.12.12-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /source
COPY pyproject.toml setup.cfg README.md spark-defaults.conf ./
COPY contracts/ contracts/
COPY edge/ edge/
COPY identity/ identity/
COPY routing/ routing/
COPY sinks/ sinks/
COPY stores/ stores/
COPY telemetry/ telemetry/
COPY admin/ admin/
COPY bench/ bench/
COPY docs/deploy/install.sh ./
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist . \
    && sh install.sh /opt/sluicemq /dist/*.whl postgresql

FROM ${PYTHON}
COPY --from=build /opt/sluicemq /opt/sluicemq
ENV PATH=/opt/sluicemq/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    # Who reaches a container's port was let through to it; a process that listens on its loopback reaches nobody.
    LISTENER_TCP_BIND_ADDRESS=0.0.0.0 \
    LISTENER_WS_BIND_ADDRESS=0.0.0.0 \
    LISTENER_SSL_BIND_ADDRESS=0.0.0.0 \
    LISTENER_WSS_BIND_ADDRESS=0.0.0.0 \
    # Metrics and health, which tell anybody who reaches them: publish this port to operators only.
    SLUICEMQ_METRICS_LISTEN=0.0.0.0:9464
RUN useradd --system --uid 1883 --home-dir /nonexistent --shell /usr/sbin/nologin sluicemq
USER 1883
EXPOSE 1883 8084 8883 8085 9464
# A gateway listens when it has read the logs that it needs. Without router or store it takes messages all the same.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:9464/health/ready?exclude=router&exclude=store', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["sluicemq"]
CMD ["gateway"]
