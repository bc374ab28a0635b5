"""Where clients come in: over TCP, and over WebSocket."""
