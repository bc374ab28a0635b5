"""The settings of the WebSocket listener."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings

WEBSOCKET_PATH = "/mqtt"
"""The one path that is answered; clients take it unless told otherwise."""
WEBSOCKET_PORT = 8084
"""The port that clients expect."""


class WebSocketSettings(BaseSettings):
    """Whether and where clients come in over WebSocket."""

    ws_enabled: Annotated[bool, Field(validation_alias=AliasChoices("ws_enabled", "LISTENER_WS_ENABLED"))] = (
        False
    )
    """Whether there is a WebSocket listener. Off unless asked for: it is one more open port."""
    ws_host: Annotated[str, Field(validation_alias=AliasChoices("ws_host", "LISTENER_WS_BIND_ADDRESS"))] = (
        "127.0.0.1"
    )
    """Address that it listens on."""
    ws_port: Annotated[
        int, Field(ge=0, le=65535, validation_alias=AliasChoices("ws_port", "LISTENER_WS_BIND_PORT"))
    ] = WEBSOCKET_PORT
    """Its port; 0 takes a free one, which the LISTENING line tells."""
