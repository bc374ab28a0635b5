"""Tests of the MQTT core; one file a module, and the byte cases as data in ``packet_cases``."""
