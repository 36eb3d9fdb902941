"""errors.py - what can go wrong, as classes.

TurbineError is the parent of all of them. Errors of the database itself (a syntax error, a missing table) are not wrapped:
they come as the client library raises them.
"""


class TurbineError(Exception):
    """Anything that this package raises by itself."""


class TokenError(TurbineError, ValueError):
    """These bytes are not a token of turbine.export()."""


class NotReachable(TurbineError, ConnectionError):
    """The memory lies on another host, or its export socket cannot be reached from here."""


class ImportRefused(TurbineError):
    """The server knows no such token: it has been used, has expired, was released, or belongs to another user."""


class ServerBusy(ImportRefused):
    """The server answers too many imports at once. Trying again later may succeed."""


class ProtocolError(TurbineError):
    """The server's answer is damaged. Nothing has been mapped."""


class DeviceError(TurbineError, RuntimeError):
    """A GPU that holds the memory cannot be used from this process."""


class NoTensor(TurbineError, BufferError, TypeError):
    """A column has no form as a tensor: its type has none, or it has NULLs.

    A BufferError because DLPack wants one, and a TypeError because numpy's conversions want that.
    """


class CopyWarning(UserWarning):
    """The rows were copied through the connection instead of being shared."""
