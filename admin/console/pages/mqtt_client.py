"""An MQTT client in the browser, over WebSocket, to try what clients do."""

from __future__ import annotations

from nicegui import ui

from admin.console.calls import ProblemAnswer
from admin.console.parts import page_head
from admin.console.shell import console_page
from admin.console.static_files import STATIC
from admin.console.view import View


class _MqttClient(
    ui.element, component=STATIC / "mqtt_client.js", esm={"sluicemq-mqtt": str(STATIC / "mqtt")}
):
    pass


@console_page("/mqtt-client", "MQTT client")
async def mqtt_client(view: View) -> None:
    """The page; what it does stands in the component, and never comes to this process."""
    page_head(
        "MQTT client",
        "It runs in this browser and connects to a gateway over WebSocket, as a web application does.",
    )
    client = _MqttClient()
    client.props["gateways"] = await _gateways(view)


async def _gateways(view: View) -> list[dict[str, str]]:
    """Where nodes listen for WebSockets; none where that is not known."""
    try:
        nodes = await view.calls.get("/nodes")
    except ProblemAnswer:
        return []
    return [
        {"node": node["node"], "scheme": scheme, "address": node["listeners"][kind]}
        for node in nodes
        if node["state"] == "living"
        for kind, scheme in (("ws", "ws"), ("wss", "wss"))
        if node["listeners"].get(kind)
    ]
