"""`$delayed/<seconds>/<topic>`: messages that are published later, each once (docs/adr/0021).

`delaying` has a publish wait, `agenda` knows what is due when (pure), `partition` is one of `tbmq.msg.delayed` with its
only writer, `fetching` reads again what is due, `timekeeper` is the thread that
publishes, `quota` counts what waits in the cluster, and `delayed_messages` puts them together.
"""
