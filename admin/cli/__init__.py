"""The `sluicemq` command: one module a sub-command. It prints what a user reads; the work is done elsewhere."""
