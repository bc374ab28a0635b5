"""`$delayed/<seconds>/<topic>`: messages that are published later, each once (docs/adr/0021).

`delaying` has a publish wait, `agenda` knows what is due when (pure), `partition` is one of `tbmq.msg.delayed` with its
only writer, `fetching` reads again what is due, `routing` makes its in-band routes, `timekeeper` is the thread that
publishes, and `quota` counts what waits in the cluster.
"""
