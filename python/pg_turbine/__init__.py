"""pg_turbine - rows of PostgreSQL as columns in the memory of this process, without a copy."""

from __future__ import annotations

from .batching import Batches, batches
from .columns import Column, Columns
from .errors import (CopyWarning, DeviceError, ImportRefused, NoTensor, NotReachable, ProtocolError, ServerBusy, TokenError,
                     TurbineError)
from .importing import ipc_import
from .opening import open
from .tensors import DeviceTensor
from .writing import write

__version__ = "0.2"

__all__ = ["Batches", "Column", "Columns", "CopyWarning", "DeviceError", "DeviceTensor", "ImportRefused", "NoTensor",
           "NotReachable", "ProtocolError", "ServerBusy", "TokenError", "TurbineError", "batches", "ipc_import", "open", "write"]
