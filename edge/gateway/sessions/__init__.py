"""Sessions of the whole cluster: decided by one owner per client id, asked for by the gateway that has the client."""
