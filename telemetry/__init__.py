"""How a process tells how it is: metrics and health over HTTP, and logs. It knows nothing of what the process does."""
