"""Delivery to persistent APPLICATION clients, each from a Kafka topic of its own (docs/adr/0012).

`client_types` tells who is one, `topics` makes its Kafka topic and finds its end, `readers` reads many of them with few
threads, `reading` knows how far an application is, `feed` delivers to one, `reporting` tells the owner how far it is.
"""
