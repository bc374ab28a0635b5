"""What hooks cost the router: a filter in SQL, a function with a lookup, a rule, each beside a router without any."""

from __future__ import annotations

from pathlib import Path

from admin.stack.kafka import running_kafka
from bench import hook_functions, hooks_job
from bench.benches.router import Table, prepare_backlog, run_spark
from bench.environment import Environment
from bench.figures import Bars, Figure, Percentiles, Result
from bench.hook_functions import LOOKUP
from bench.hooks_job import NONE
from bench.routed_stream import FILTER
from bench.router_job import NODES
from bench.statistics import median, percentile

_ROUTES = 1_000
_ALARMS = ("alarm/#", NODES[1])
"""Whoever wants what the rule makes."""
_NAMES = {
    NONE: "none",
    "filter.toml": "SQL filter",
    "function.toml": "function with a lookup",
    "rule.toml": "rule for a message in ten",
}
_FILES = {
    "filter.toml": "[[transformations]]\nsql = \"SELECT * FROM messages WHERE NOT topic LIKE 'debug/%'\"\n",
    "function.toml": (
        f'[lookups.{LOOKUP}]\nformat = "csv"\npath = "{{folder}}/sites.csv"\n'
        'schema = "device string, site string"\nkey = ["device"]\n'
        f'[[transformations]]\nfunction = "{hook_functions.__name__}:{hook_functions.with_site.__name__}"\n'
    ),
    "rule.toml": (
        '[[rules]]\nname = "alarms"\nnumber = 1\nsql = "SELECT concat(\'alarm/\', topic) AS topic, payload'
        " FROM messages WHERE topic LIKE 'fleet/%7/state'\"\n"
    ),
}


def measure_hooks(environment: Environment) -> Result:
    """A million messages of 256 B for two nodes, and then 100 a second, with each kind of hook in turn."""
    messages = environment.million
    result = Result("hooks", f"Hooks: {messages:,} messages of 256 B, fan-out 2, then 100 a second")
    environment.stop_stack()
    folder, table = environment.folder / "hooks", Table(_ROUTES)
    files = [NONE, *map(str, write_hooks(folder, table))]
    with running_kafka(folder / "kafka") as (broker, _):
        environment.tell(f"writing {messages:,} messages")
        prepare_backlog(broker.bootstrap, table, messages, [(FILTER, NODES[0]), _ALARMS])
        environment.tell("routing them without hooks and with each, in turn")
        arguments = [str(min(environment.rounds, 3)), table.topics.prefix, *files]
        measured = run_spark(folder, broker.bootstrap, hooks_job.__file__, arguments)
    found = {_NAMES[Path(file).name]: measured[file] for file in files}
    cpu = {name: median(one["cpu"] for one in of["drained"]) / messages * 1e6 for name, of in found.items()}
    rates = {name: messages / median(one["seconds"] for one in of["drained"]) for name, of in found.items()}
    for name, of in found.items():
        more = "" if name == _NAMES[NONE] else f"{cpu[name] - cpu[_NAMES[NONE]]:+.1f} against none"
        result.figures += [
            Figure(f"{name}: a backlog", rates[name], "msg/s", note="without each run's fixed time"),
            Figure(f"{name}: the JVM's CPU", cpu[name], "µs a message", note=more),
            *(
                Figure(f"{name}: Kafka to Kafka, p{share:g}", percentile(of["latencies"], share) * 1e3, "ms")
                for share in (50.0, 99.0)
            ),
        ]
    result.plots = [
        Bars("CPU of the router's JVM by hook", "µs a message", cpu),
        Percentiles(
            "Latency through the router by hook", {name: of["latencies"] for name, of in found.items()}
        ),
    ]
    result.details = {name: of["drained"] for name, of in found.items()}
    return result


def write_hooks(folder: Path, table: Table) -> list[Path]:
    """Write the configurations, and the lookup: a site for each device there is."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sites.csv").write_text(
        "".join(f"{number},site-{number % 10}\n" for number in range(table.mqtt_topics))
    )
    written = []
    for name, text in _FILES.items():
        written.append(folder / name)
        written[-1].write_text(text.replace("{folder}", str(folder)))
    return written
