"""What goes wrong between the administration and the cluster; each message is one sentence that says what to do.

ClusterError
├── NotReadyError      the view is not loaded yet, or Kafka does not answer
├── NobodyAnswersError no gateway did in time what was asked
├── NotFoundError      there is no such session, subscription or retained message
├── ConflictError      what is asked can't be done as things stand
└── RejectedError      what is asked can never be done
"""

from __future__ import annotations


class ClusterError(Exception):
    """What was asked was not done, or may not have been."""


class NotReadyError(ClusterError):
    """The cluster is not to be seen."""


class NobodyAnswersError(ClusterError):
    """Nobody did what was asked, in time; it may still be done."""


class NotFoundError(ClusterError):
    """There is no such thing."""


class ConflictError(ClusterError):
    """Not now."""


class RejectedError(ClusterError):
    """Not ever."""
