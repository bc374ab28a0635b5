"""A client's state in words. Pure: the API's answer and the time → sentences."""

from __future__ import annotations

from typing import Any

from admin.console.words import ago, counted, duration


def explain(client: dict[str, Any], now_ms: int) -> str:
    """Tell what state a client is in: where it is, how long its session is kept, and what waits for it.

    Args:
        client: What `GET /client` answered.
        now_ms: Since 1970.
    """
    parts = [_where(client, now_ms), _session(client, now_ms), _waiting(client)]
    text = "; ".join(part for part in parts if part)
    return text[:1].upper() + text[1:] + "."


def _where(client: dict[str, Any], now_ms: int) -> str:
    node = client["node"]
    if client["is_connected"]:
        since = client["connected_at_ms"]
        for_time = f" for {duration((now_ms - since) / 1000)}" if since is not None else ""
        return f"connected to {node}{for_time}"
    left = client["disconnected_at_ms"]
    when = f"disconnected {ago(left, now_ms)}" if left is not None else "not connected"
    return f"{when}{f', last on {node}' if node else ''}"


def _session(client: dict[str, Any], now_ms: int) -> str:
    expiry = client["expiry_seconds"]
    if client["is_connected"]:
        if expiry is None:
            return "its session is kept for ever after it goes"
        return (
            f"its session is kept for {duration(expiry)} after it goes"
            if expiry
            else "its session goes with it"
        )
    if client["state"] == "lingering" and not client["is_persistent"]:
        return "its session waits only for its will"
    ends = client["expires_at_ms"]
    return (
        f"its session ends {ago(ends, now_ms)}"
        if ends is not None
        else "its session is kept until it returns"
    )


def _waiting(client: dict[str, Any]) -> str:
    messages = client["messages"]
    if messages is None:
        return "" if client["is_persistent"] else "nothing is kept for it"
    count = messages["stored"] if messages["kind"] == "device" else messages["lag"]
    if count is None:
        return "how much waits for it is not known"
    if count == 0:
        return "nothing waits for it"
    return f"{counted(count, 'message')} {'waits' if count == 1 else 'wait'} for it"
