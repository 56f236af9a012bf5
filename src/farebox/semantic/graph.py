"""A computation written down as an ONNX graph, and run by onnxruntime on one thread."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from farebox.semantic.arrays import Floats

Weights = Floats | NDArray[np.int8]
Value = str  # what a node gives, what a caller hands in: its name

_OPERATORS: Final = 20  # version of the operator set
_FORMAT: Final = 10  # and of the form in which a graph is handed over
FLOAT: Final = int(TensorProto.FLOAT)
_ONLY_ERRORS: Final = 3  # of what onnxruntime says on its own


class Graph:
    """Nodes, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._given: list[Any] = []
        self._constants: list[Any] = []
        self._weights: dict[str, Weights] = {}

    def given(self, name: str, shape: Sequence[str | int]) -> Value:
        """What the caller hands in under this name; a word stands for any length."""
        self._given.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def number(self, value: float) -> Value:
        """It, in single precision."""
        return self._constant(np.array(value, dtype=np.float32))

    def whole(self, value: int | Sequence[int]) -> Value:
        """A place, or axes, or a shape."""
        return self._constant(np.array(value, dtype=np.int64))

    def weights(self, values: Weights) -> Value:
        """What was learned; it is not held twice."""
        name = f"weights{len(self._weights)}"
        laid_out: Weights = values.copy(order="C")
        self._weights[name] = laid_out
        tensor = TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(values.dtype),
            dims=values.shape,
            data_location=TensorProto.EXTERNAL,
        )
        tensor.external_data.add(key="location", value=name)  # handed over beside the graph
        self._constants.append(tensor)
        return name

    def node(self, operator: str, *inputs: Value, **attributes: Any) -> Value:
        """What the operator gives; they are those of ONNX, by their names there."""
        return self.nodes(operator, *inputs, parts=1, **attributes)[0]

    def nodes(self, operator: str, *inputs: Value, parts: int, **attributes: Any) -> list[Value]:
        """The same of an operator that gives several values."""
        names = [f"{operator}{len(self._nodes)}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def ready(self, found: Value) -> "Running":
        """The graph that gives this value."""
        outcome = helper.make_tensor_value_info(found, TensorProto.FLOAT, None)
        graph = helper.make_graph(
            self._nodes, "graph", self._given, [outcome], initializer=self._constants
        )
        operators = helper.make_opsetid("", _OPERATORS)
        model = helper.make_model(graph, opset_imports=[operators], ir_version=_FORMAT)
        return Running(model.SerializeToString(), self._weights)

    def _constant(self, values: NDArray[Any]) -> Value:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(values, name))
        return name


class Running:
    """A graph that is ready; threads may share it."""

    def __init__(self, model: bytes, weights: Mapping[str, Weights]) -> None:
        options = onnxruntime.SessionOptions()
        # One thread a text is the fastest for short texts, and leaves the other cores to others.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # one would be kept for every length of a text
        options.log_severity_level = _ONLY_ERRORS
        handed = [onnxruntime.OrtValue.ortvalue_from_numpy(each) for each in weights.values()]
        options.add_external_initializers(list(weights), handed)  # they are copied
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, **given: Floats) -> Floats:
        """What comes out for what is given."""
        (found,) = self._session.run(None, given)
        return np.asarray(found)
