#!/usr/bin/env python3
"""Writes a small convolutional network with fixed weights: model.py FILE."""
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def weights(random, name, *shape):
    """A tensor of small values."""
    return numpy_helper.from_array(
        (random.standard_normal(shape) * 0.05).astype(numpy.float32), name
    )


def main(path):
    random = numpy.random.default_rng(7)
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], strides=[2, 2]),
        helper.make_node("Relu", ["c2"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["h"]),
        helper.make_node("Softmax", ["h"], ["answer"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "y", "x"])],
        [helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["n", 10])],
        [
            weights(random, "w1", 32, 3, 3, 3),
            weights(random, "b1", 32),
            weights(random, "w2", 64, 32, 3, 3),
            weights(random, "b2", 64),
            weights(random, "w3", 64, 10),
            weights(random, "b3", 10),
        ],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.checker.check_model(model)
    onnx.save(model, path)


if __name__ == "__main__":
    main(sys.argv[1])
