# The image of the administration, and of `sluicemq`'s other commands. From the root of the clone:
#   docker build -f docs/deploy/images/admin.Dockerfile -t sluicemq-admin:0.1.0 .
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
    && sh install.sh /opt/sluicemq /dist/*.whl admin,postgresql

FROM ${PYTHON}
COPY --from=build /opt/sluicemq /opt/sluicemq
ENV PATH=/opt/sluicemq/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    # It speaks plain HTTP: let nothing but a proxy with TLS reach it.
    SLUICEMQ_ADMIN_LISTEN=0.0.0.0:8083 \
    # Metrics and health, which tell anybody who reaches them: publish this port to operators only.
    SLUICEMQ_METRICS_LISTEN=0.0.0.0:9464
RUN useradd --system --uid 1883 --home-dir /nonexistent --shell /usr/sbin/nologin sluicemq
USER 1883
EXPOSE 8083 9464
HEALTHCHECK --interval=10s --timeout=10s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:9464/health/ready', timeout=8)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["sluicemq"]
CMD ["admin"]
