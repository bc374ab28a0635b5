"""The web console: pages for people, on the administration's HTTP API and on nothing else.

It asks the API's routes, in process, with its user's own session: roles, checks and problem documents stand there
alone.
Pages are NiceGUI's, which ships its scripts; docs/adr/0041-web-console.md has the reasons.
"""
