"""Sessions of onnxruntime, as every part of the embedding process wants them.

Promises: nothing is printed but fatal errors; a session takes the processors it is given.
Does not: know models. Imported only by the worker process.
"""

from __future__ import annotations

from typing import Any

import onnxruntime

SEVERE = 4  # onnxruntime's log level that says nothing but fatal errors


def options(threads: int = 1, hasty: bool = False) -> Any:
    """SessionOptions for runs on so many threads; `hasty` ones open at once and run as written."""
    found = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    found.graph_optimization_level = levels.ORT_ENABLE_ALL
    if hasty:
        found.graph_optimization_level = levels.ORT_DISABLE_ALL
        found.add_session_config_entry("session.disable_prepacking", "1")
    found.intra_op_num_threads, found.inter_op_num_threads = threads, 1
    found.log_severity_level = SEVERE
    return found


def opened(model: str | bytes, chosen: Any) -> Any:
    """An InferenceSession on the processor; raises whatever this version of onnxruntime does."""
    return onnxruntime.InferenceSession(model, chosen, providers=["CPUExecutionProvider"])
