#!/bin/sh
# Installs SluiceMQ into a folder of its own: the images are made by it, and so is a machine for the systemd units.
#   install.sh /opt/sluicemq dist/sluicemq-0.1.0-py3-none-any.whl spark,postgresql
# FOLDER/bin has the commands. With the extra "spark", FOLDER/spark is a SPARK_HOME that has the connector to Kafka, so that
# no start fetches it, and FOLDER/jobs has the jobs, by names that do not change with the version of Python. "delta" behind
# all that gives it the jars of Delta Lake too, for archives that are its tables.
# PYTHON names the interpreter, python3 otherwise.
set -eu

if [ $# -lt 3 ] || [ $# -gt 4 ] || [ "${4:-delta}" != delta ]; then
    echo "Usage: install.sh FOLDER WHEEL EXTRA,EXTRA [delta]" >&2
    exit 2
fi
folder=$1 wheel=$2 extras=$3 delta=${4:-}

"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/pip" install --no-cache-dir --disable-pip-version-check "${wheel}[${extras}]"

case ",$extras," in
    *,spark,*) ;;
    *) exit 0 ;;
esac

# Where a package was installed, without importing it. -P: not the clone's own, where this may be run.
place() {
    "$folder/bin/python" -P -c 'import importlib.util, os, sys
print(os.path.dirname(importlib.util.find_spec(sys.argv[1]).origin))' "$1"
}
ln -sfn "$(place pyspark)" "$folder/spark"
mkdir -p "$folder/jobs"
for job in router=routing sink=sinks archive=sinks.archive messages=sinks.messages statistics=sinks.historical; do
    ln -sfn "$(place "${job#*=}")/job.py" "$folder/jobs/${job%%=*}.py"
done

fetched=${SLUICEMQ_HOME:-$folder/fetched}
SLUICEMQ_HOME=$fetched "$folder/bin/python" -P -m admin.stack.jars ${delta:+"$delta"}
cp "$fetched"/jars/*/connector/*.jar "$folder/spark/jars/"
[ -z "$delta" ] || cp "$fetched"/jars/*/delta/*.jar "$folder/spark/jars/"
rm -rf "$folder/fetched"
