# The image of the router and of the sinks: drivers, and on Kubernetes their executors. From the root of the clone:
#   docker build -f docs/deploy/images/spark.Dockerfile -t sluicemq-spark:0.1.0 .
# With --build-arg DELTA=delta it also has the jars of Delta Lake, for archives that are its tables.
ARG PYTHON=python:3.12.12-slim-bookworm
ARG SPARK=apache/spark:4.2.0

FROM ${SPARK} AS spark

FROM ${PYTHON} AS java
# Debian keeps the newest version of a package only, so one that is pinned could not be installed for long.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends openjdk-17-jre-headless tini procps \
    && rm -rf /var/lib/apt/lists/*

FROM java AS build
ARG DELTA
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
    && sh install.sh /opt/sluicemq /dist/*.whl spark,postgresql ${DELTA:+"${DELTA}"}

FROM java
COPY --from=build /opt/sluicemq /opt/sluicemq
# Spark's own start of executors on Kubernetes.
COPY --from=spark /opt/entrypoint.sh /opt/entrypoint.sh
# By any architecture's name: what Debian calls its Java differs.
RUN ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" /opt/java \
    && useradd --uid 185 --create-home spark \
    && install --directory --owner=185 /checkpoint /archive
ENV PATH=/opt/sluicemq/bin:/opt/sluicemq/spark/bin:$PATH \
    JAVA_HOME=/opt/java \
    SPARK_HOME=/opt/sluicemq/spark \
    PYSPARK_PYTHON=/opt/sluicemq/bin/python \
    PYTHONUNBUFFERED=1 \
    # Metrics and health of drivers, which tell anybody who reaches them: publish this port to operators only.
    SLUICEMQ_METRICS_LISTEN=0.0.0.0:9464
USER 185
WORKDIR /home/spark
EXPOSE 9464
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:9464/health/ready', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/opt/entrypoint.sh"]
