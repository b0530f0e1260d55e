#!/usr/bin/env python3
"""Writes the bundled layer table of ResNet-50 ("gradsync.layers/1", docs/formats.md).

usage: tools/make_layers.py > traces/profiles/resnet50.json

Sizes follow from the architecture: He, Zhang, Ren, Sun, "Deep Residual Learning for Image
Recognition", 2016, table 1, 50-layer column; stride 2 sits in the 3x3 convolution, as in common
training code. A multiply-add is two FLOPs; convolutions and the last linear layer are counted,
normalisation, activation, pooling and addition are not. Totals are checked before writing.
"""
import json
import sys

IMAGE = 224
CLASSES = 1000
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks, width
EXPANSION = 4
EXPECTED = {"tensors": 161, "elements": 25557032, "forward_flops": 8178368512}

# Kernel times of three steps in microseconds, from the public profiler trace named below.
FORWARD_US = (12649.6, 12638.7, 12633.3)
BACKWARD_US = (25163.7, 25098.8, 25393.6)
OPTIMIZER_US = (693.1, 692.0, 693.1)
TIMES_SOURCE = (
    "measured: facebookresearch/HolisticTraceAnalysis f4d0062c, tests/data/nccl_parser_config/"
    "nccl_data.json.gz (MIT), ResNet-50 under DDP, rank 0 of 2, NVIDIA A100-PG509-200, steps 4 to "
    "6. Each number is the mean over three steps of the union of compute kernels (stream 7) whose "
    "launch lies in the host range '## forward ##', '## backward ##' or '## optimizer ##': forward "
    "12649.6 12638.7 12633.3 us, backward 25163.7 25098.8 25393.6 us, optimizer 693.1 692.0 693.1 "
    "us. Gaps between kernels are left out; the steps of that run took 222442, 219727 and 224936 "
    "us, because its host could not launch faster. The trace does not state its batch size."
)


class Table:
    """Rows in forward order."""

    def __init__(self):
        self.rows = []
        self.layer = -1

    def tensor(self, name, elements, flops):
        self.rows.append(
            {"name": name, "elements": elements, "forward_flops": flops, "layer": self.layer}
        )

    def convolution(self, name, channels_in, channels_out, kernel, size_out):
        self.layer += 1
        weights = channels_out * channels_in * kernel * kernel
        self.tensor(name + ".weight", weights, 2 * weights * size_out * size_out)

    def normalisation(self, name, channels):
        self.layer += 1
        self.tensor(name + ".weight", channels, 0)
        self.tensor(name + ".bias", channels, 0)

    def linear(self, name, inputs, outputs):
        self.layer += 1
        self.tensor(name + ".weight", inputs * outputs, 2 * inputs * outputs)
        self.tensor(name + ".bias", outputs, 0)

    def bottleneck(self, name, channels_in, width, size_in, stride):
        size_out = size_in // stride
        self.convolution(name + ".conv1", channels_in, width, 1, size_in)
        self.normalisation(name + ".bn1", width)
        self.convolution(name + ".conv2", width, width, 3, size_out)
        self.normalisation(name + ".bn2", width)
        self.convolution(name + ".conv3", width, EXPANSION * width, 1, size_out)
        self.normalisation(name + ".bn3", EXPANSION * width)
        if stride != 1 or channels_in != EXPANSION * width:
            self.convolution(name + ".downsample.0", channels_in, EXPANSION * width, 1, size_out)
            self.normalisation(name + ".downsample.1", EXPANSION * width)
        return EXPANSION * width, size_out


def resnet50():
    table = Table()
    channels, size = 64, IMAGE // 2
    table.convolution("conv1", 3, channels, 7, size)
    table.normalisation("bn1", channels)
    size //= 2  # max pooling
    for stage, (blocks, width) in enumerate(STAGES, start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            name = f"layer{stage}.{block}"
            channels, size = table.bottleneck(name, channels, width, size, stride)
    table.linear("fc", channels, CLASSES)
    return table.rows


def microseconds(values):
    return f"{sum(values) / len(values):.1f}us"


def main():
    rows = resnet50()
    found = {
        "tensors": len(rows),
        "elements": sum(row["elements"] for row in rows),
        "forward_flops": sum(row["forward_flops"] for row in rows),
    }
    if found != EXPECTED:
        sys.exit(f"make_layers.py: totals are {found}, should be {EXPECTED}")
    head = {
        "schema": "gradsync.layers/1",
        "$comment": "made by tools/make_layers.py",
        "name": "resnet50",
        "source": "He et al. 2016, table 1, 50 layers; stride in the 3x3 convolution; one "
        "3x224x224 image a sample; a multiply-add is 2 FLOP",
        "element_bytes": 4,
        "batch": 0,
        "times": {
            "forward": microseconds(FORWARD_US),
            "backward": microseconds(BACKWARD_US),
            "optimizer": microseconds(OPTIMIZER_US),
            "source": TIMES_SOURCE,
        },
    }
    text = json.dumps(head, indent=2)[:-2] + ',\n  "tensors": [\n'
    text += ",\n".join("    " + json.dumps(row) for row in rows) + "\n  ]\n}\n"
    json.loads(text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
