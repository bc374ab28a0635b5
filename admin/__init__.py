"""Administration: the `sluicemq` command and the embedded stack. Nothing but bench and tests imports it."""
