"""pg_turbine - rows of PostgreSQL as columns in the memory of this process, without a copy."""

from __future__ import annotations

from .columns import Column, Columns
from .errors import (CopyWarning, DeviceError, ImportRefused, NoTensor, NotReachable, ProtocolError, ServerBusy, TokenError,
                     TurbineError)
from .importing import ipc_import
from .tensors import DeviceTensor

__version__ = "0.2"

__all__ = ["Column", "Columns", "CopyWarning", "DeviceError", "DeviceTensor", "ImportRefused", "NoTensor", "NotReachable",
           "ProtocolError", "ServerBusy", "TokenError", "TurbineError", "ipc_import"]
