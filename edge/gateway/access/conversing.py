"""Enhanced authentication (section 4.12, MQTT 5.0): data carried between a client and the provider of its method."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from edge.gateway.access.admitted import Admitted
from edge.gateway.access.identities import Identity, identity_of
from edge.gateway.connection import Connection
from edge.mqtt.events import AuthReceived
from edge.mqtt.reason_codes import ReasonCode
from edge.mqtt.states import State
from identity.answers import Failure
from identity.attempt import ConnectAttempt
from identity.chain import Chain
from identity.conversation import Challenge, Conversation, Proven


class Conversing:
    """The conversations that are under way, one for each connection at most."""

    def __init__(
        self, chain: Chain, admitted: Admitted, timeout: float, revised: Callable[[], None] = lambda: None
    ) -> None:
        """`timeout`: seconds for a re-authentication. `revised`: called when one was successful."""
        self._chain = chain
        self._admitted = admitted
        self._timeout = timeout
        self._revised = revised
        self._expected: dict[Connection, asyncio.Future[bytes | None]] = {}
        self._again: dict[Connection, asyncio.Task[None]] = {}

    async def begin(
        self, connection: Connection, method: str, data: bytes | None, attempt: ConnectAttempt
    ) -> Proven | Failure | None:
        """The conversation of a CONNECT; None where no provider knows its method."""
        conversation = self._chain.converse(method, attempt)
        return None if conversation is None else await self._converse(connection, conversation, data)

    def received(self, connection: Connection, event: AuthReceived) -> None:
        """AUTH came: the answer to a challenge, or the wish to authenticate again."""
        packet = event.packet
        expected = self._expected.get(connection)
        identity = self._admitted.get(connection)
        if packet.reason_code == ReasonCode.CONTINUE_AUTHENTICATION:
            if expected is not None and not expected.done():
                expected.set_result(packet.properties.authentication_data)
                return
        elif connection not in self._again and identity is not None and identity.conversed is not None:
            data = packet.properties.authentication_data
            task = asyncio.get_running_loop().create_task(
                self._converse_again(connection, identity, identity.conversed, data)
            )
            self._again[connection] = task
            task.add_done_callback(lambda _: self._again.pop(connection, None))
            return
        self._admitted.end(connection, ReasonCode.PROTOCOL_ERROR)  # nobody asked for it now

    def ended(self, connection: Connection) -> None:
        """A connection is over."""
        if (task := self._again.get(connection)) is not None:
            task.cancel()

    def replace(self, chain: Chain) -> list[asyncio.Task[None]]:
        """Converse by another chain from now on; returns the re-authentications that go on by the former one."""
        self._chain = chain
        return list(self._again.values())

    async def close(self) -> None:
        """Converse with nobody any more."""
        tasks = list(self._again.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _converse(
        self, connection: Connection, conversation: Conversation, data: bytes | None
    ) -> Proven | Failure:
        answer = await conversation.start(data)
        while isinstance(answer, Challenge):
            expected = asyncio.get_running_loop().create_future()
            self._expected[connection] = expected
            try:
                connection.core.authenticate(ReasonCode.CONTINUE_AUTHENTICATION, answer.data)
                connection.changed()
                data = await expected
            finally:
                del self._expected[connection]
            answer = await conversation.go_on(data)
        return answer

    async def _converse_again(
        self, connection: Connection, identity: Identity, attempt: ConnectAttempt, data: bytes | None
    ) -> None:
        """A re-authentication; all else goes on meanwhile, as what was proven before."""
        method = connection.core.authentication_method
        conversation = self._chain.converse(method or "", attempt, identity.proven_name)
        answer: Proven | Failure = Failure("no provider knows its method")
        try:
            async with asyncio.timeout(self._timeout):
                if conversation is not None:
                    answer = await self._converse(connection, conversation, data)
        except TimeoutError:
            answer = Failure("the client did not go on")
        if isinstance(answer, Failure):
            is_over = ReasonCode.SERVER_BUSY if answer.is_temporary else ReasonCode.NOT_AUTHORIZED
            self._admitted.end(connection, is_over)  # [MQTT-4.12.1-2]
        elif connection.core.state is State.CONNECTED:
            anew = identity_of(attempt, answer.success)
            anew.conversed = attempt
            self._admitted.change(connection, anew)
            self._revised()
            connection.core.authenticate(ReasonCode.SUCCESS, answer.data)
            connection.changed()
