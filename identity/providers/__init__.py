"""Ways of telling who a client is: certificates, tokens, an HTTP service, SCRAM. docs/authentication.md is for users.

Each judges what a client shows (`identity.attempt`) and says success, skipped or failure; `identity.chain` puts them in
an order, `identity.settings` makes them. Never shows or logs what a client keeps secret.
"""
