#!/usr/bin/env python3
"""Writes the bundled layer tables ("gradsync.layers/1", docs/formats.md).

usage: tools/make_layers.py FOLDER      (traces/profiles)

Sizes and FLOPs follow from the published architectures that `source` names. Names and order are
those of common training code, whose order decides which gradients share a bucket; a tensor that is
used twice (a tied word embedding) stands once, in front, since its gradient is complete last.

Rows: of the tensor as a matrix [rows][the rest], as training code stores it and as codecs of low
rank see it: outputs of a linear layer or a convolution, entries of an embedding; a vector has one.

FLOPs: a multiply-add is two. Counted are convolutions, linear layers, attention products over the
whole S x S matrix (rows without parameters) and vocabulary projections; not counted normalisation,
activation functions, softmax, pooling, addition and look-ups.

Activations: elements that the forward pass of one sample leaves in memory because the backward
pass reads them, each counted once, at the row of the operation that makes it. So: outputs of
convolutions, linear layers and normalisations, of activation functions (in place where the
published code is), of softmax, dropout and pooling, the sum of a residual connection, and the
input of the model where it is not made of integers. Not counted: what no backward reads (the
output of a linear layer that only goes into a dropout or a sum), masks and indices, statistics of
a normalisation. Attention is not fused: its probabilities are kept. For a transformer layer with
dropout this is 16 S H + 2 A S S, the count of Korthikanti et al., "Reducing Activation
Recomputation in Large Transformer Models", 2022, equation 2, without its masks.

Boundaries: the output of a block (a residual block, a transformer layer, the convolutions between
two poolings), at the block's last row: all that full checkpointing keeps of the block.

Totals are checked before anything is written.
"""
import json
import os
import sys

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

    def begin(self):
        """A new layer: what follows becomes ready together."""
        self.layer += 1
        return self

    def row(self, name, elements, flops=0, kept=0, rows=1):
        row = {"name": name, "elements": elements, "forward_flops": flops, "layer": self.layer}
        self.rows.append(row)
        if elements:
            row["rows"] = rows
        if kept:
            row["activations"] = kept
        return self

    def table(self, name, entries, width, kept=0):
        """An embedding."""
        return self.row(name, entries * width, 0, kept, entries)

    def bias(self, name, elements, has_bias=True):
        return self.row(name + ".bias", elements) if has_bias else self

    def keep(self, elements):
        """The last row leaves these elements as well."""
        self.rows[-1]["activations"] = self.rows[-1].get("activations", 0) + elements

    def end_block(self, elements):
        self.rows[-1]["boundary"] = elements

    def convolution(self, name, inputs, outputs, kernel, size_out, has_bias=False):
        weights = outputs * inputs * kernel * kernel
        pixels = size_out * size_out
        flops = 2 * weights * pixels
        self.begin().row(name + ".weight", weights, flops, outputs * pixels, outputs)
        return self.bias(name, outputs, has_bias)

    def linear(self, name, inputs, outputs, positions=1, kept=0, has_bias=True, rows=None):
        weights = inputs * outputs
        flops = 2 * weights * positions
        self.begin().row(name + ".weight", weights, flops, kept, rows or outputs)
        return self.bias(name, outputs, has_bias)

    def norm(self, name, channels, kept, has_bias=True):
        self.begin().row(name + ".weight", channels, 0, kept)
        return self.bias(name, channels, has_bias)

    def attention(self, scores, context, width, heads, positions, copies):
        """Two products without parameters; `copies` of the probabilities are kept."""
        flops = 2 * positions * positions * width
        self.begin().row(scores, 0, flops, copies * heads * positions * positions)
        return self.begin().row(context, 0, flops, positions * width)


# --- ResNet-50 -------------------------------------------------------------------------------


def bottleneck(table, name, inputs, width, size_in, stride):
    size_out = size_in // stride
    outputs = 4 * width
    pixels = size_out * size_out
    table.convolution(name + ".conv1", inputs, width, 1, size_in)
    table.norm(name + ".bn1", width, width * size_in * size_in)
    table.convolution(name + ".conv2", width, width, 3, size_out)
    table.norm(name + ".bn2", width, width * pixels)
    table.convolution(name + ".conv3", width, outputs, 1, size_out)
    table.norm(name + ".bn3", outputs, outputs * pixels)  # added to and rectified in place
    if stride != 1 or inputs != outputs:
        table.convolution(name + ".downsample.0", inputs, outputs, 1, size_out)
        table.norm(name + ".downsample.1", outputs, 0)
    table.end_block(outputs * pixels)
    return outputs, size_out


def resnet50():
    table = Table()
    image, channels = 224, 64
    size = image // 2
    table.convolution("conv1", 3, channels, 7, size)
    table.keep(3 * image * image)
    table.norm("bn1", channels, channels * size * size)
    size //= 2
    table.keep(channels * size * size)  # max pooling
    table.end_block(channels * size * size)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), start=1):
        for block in range(blocks):
            stride = 2 if stage > 1 and block == 0 else 1
            name = f"layer{stage}.{block}"
            channels, size = bottleneck(table, name, channels, width, size, stride)
    table.linear("fc", channels, 1000)
    table.keep(channels + 1000)  # mean pooling, log-probabilities
    return table.rows


# --- VGG-16 ----------------------------------------------------------------------------------


def vgg16():
    table = Table()
    size, inputs, index = 224, 3, 0
    for stage, widths in enumerate(((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)):
        for width in widths:
            table.convolution(f"features.{index}", inputs, width, 3, size, has_bias=True)
            if stage == 0 and inputs == 3:
                table.keep(3 * size * size)
            inputs = width
            index += 2  # the rectifier has a number too
        size //= 2
        index += 1
        table.keep(inputs * size * size)  # max pooling
        table.end_block(inputs * size * size)
    hidden = 4096
    table.linear("classifier.0", inputs * size * size, hidden, kept=2 * hidden)  # and its dropout
    table.linear("classifier.3", hidden, hidden, kept=2 * hidden)
    table.linear("classifier.6", hidden, 1000, kept=1000)
    return table.rows


# --- BERT-large ------------------------------------------------------------------------------


def bert_layer(table, name, width, heads, hidden, positions):
    stream = positions * width
    for part in ("query", "key", "value"):
        table.linear(f"{name}.attention.self.{part}", width, width, positions, stream)
    table.attention(
        f"{name}.attention.scores", f"{name}.attention.context", width, heads, positions, 2
    )
    table.linear(f"{name}.attention.output.dense", width, width, positions, stream)  # the sum
    table.norm(f"{name}.attention.output.LayerNorm", width, stream)
    table.linear(f"{name}.intermediate.dense", width, hidden, positions, 2 * positions * hidden)
    table.linear(f"{name}.output.dense", hidden, width, positions, stream)  # the sum
    table.norm(f"{name}.output.LayerNorm", width, stream)
    table.end_block(stream)


def bert_large():
    table = Table()
    width, layers, heads, hidden, vocabulary, positions = 1024, 24, 16, 4096, 30522, 512
    stream = positions * width
    table.begin().table("bert.embeddings.word_embeddings.weight", vocabulary, width)
    table.table("bert.embeddings.position_embeddings.weight", 512, width)
    table.table("bert.embeddings.token_type_embeddings.weight", 2, width, stream)  # the sum
    table.norm("bert.embeddings.LayerNorm", width, stream)
    table.end_block(stream)
    for layer in range(layers):
        bert_layer(table, f"bert.encoder.layer.{layer}", width, heads, hidden, positions)
    table.linear("bert.pooler.dense", width, width, kept=width)
    table.begin().bias("cls.predictions", vocabulary)
    table.linear("cls.predictions.transform.dense", width, width, positions, 2 * stream)
    table.norm("cls.predictions.transform.LayerNorm", width, stream)
    decoder = "cls.predictions.decoder (tied weight)"
    table.begin().row(decoder, 0, 2 * stream * vocabulary, positions * vocabulary)
    table.linear("cls.seq_relationship", width, 2, kept=2)
    return table.rows


# --- GPT-2 -----------------------------------------------------------------------------------


def gpt2():
    table = Table()
    width, layers, heads, vocabulary, positions = 768, 12, 12, 50257, 1024
    stream = positions * width

    def linear(name, inputs, outputs, kept):  # its code stores them [inputs][outputs]
        table.linear(name, inputs, outputs, positions, kept, rows=inputs)

    table.begin().table("transformer.wte.weight", vocabulary, width)
    table.table("transformer.wpe.weight", 1024, width, stream)
    table.end_block(stream)
    for layer in range(layers):
        name = f"transformer.h.{layer}"
        table.norm(f"{name}.ln_1", width, stream)
        linear(f"{name}.attn.c_attn", width, 3 * width, 3 * stream)
        table.attention(f"{name}.attn.scores", f"{name}.attn.context", width, heads, positions, 2)
        linear(f"{name}.attn.c_proj", width, width, stream)  # the sum
        table.norm(f"{name}.ln_2", width, stream)
        linear(f"{name}.mlp.c_fc", width, 4 * width, 8 * stream)
        linear(f"{name}.mlp.c_proj", 4 * width, width, stream)  # the sum
        table.end_block(stream)
    table.norm("transformer.ln_f", width, stream)
    table.begin().row(
        "lm_head (tied weight)", 0, 2 * stream * vocabulary, positions * vocabulary
    )
    return table.rows


# --- Llama-2-7B ------------------------------------------------------------------------------


def llama2_7b():
    table = Table()
    width, layers, heads, hidden, vocabulary, positions = 4096, 32, 32, 11008, 32000, 4096
    stream = positions * width
    inner = positions * hidden
    table.begin().table("model.embed_tokens.weight", vocabulary, width, stream)
    table.end_block(stream)
    for layer in range(layers):
        name = f"model.layers.{layer}"

        def linear(part, inputs, outputs, kept):
            table.linear(f"{name}.{part}", inputs, outputs, positions, kept, has_bias=False)

        table.norm(f"{name}.input_layernorm", width, stream, has_bias=False)
        for part in ("q_proj", "k_proj", "v_proj"):
            linear("self_attn." + part, width, width, stream)
        table.attention(
            f"{name}.self_attn.scores", f"{name}.self_attn.context", width, heads, positions, 1
        )
        linear("self_attn.o_proj", width, width, stream)  # the sum
        table.norm(f"{name}.post_attention_layernorm", width, stream, has_bias=False)
        linear("mlp.gate_proj", width, hidden, 2 * inner)  # and its activation function
        linear("mlp.up_proj", width, hidden, 2 * inner)  # and the product of both
        linear("mlp.down_proj", hidden, width, stream)  # the sum
        table.end_block(stream)
    table.norm("model.norm", width, stream, has_bias=False)
    table.linear("lm_head", width, vocabulary, positions, positions * vocabulary, has_bias=False)
    return table.rows


# --- writing ---------------------------------------------------------------------------------

IMAGE = "; one 3x224x224 image a sample; a multiply-add is 2 FLOP"
TEXT = "; one sequence of %s tokens a sample; a multiply-add is 2 FLOP"

# name: rows, tensors, parameters, forward FLOPs, source
MODELS = {
    "resnet50": (
        resnet50,
        161,
        25557032,
        8178368512,
        "He et al. 2016, table 1, 50 layers; stride in the 3x3 convolution" + IMAGE,
    ),
    "vgg16": (
        vgg16,
        32,
        138357544,
        30940528640,
        "Simonyan and Zisserman 2015, configuration D, without batch normalisation" + IMAGE,
    ),
    "bert_large": (
        bert_large,
        398,
        336226108,
        368087928832,
        "Devlin et al. 2019, large, with both pre-training heads; the decoder is the word "
        "embedding" + TEXT % "512",
    ),
    "gpt2": (
        gpt2,
        148,
        124439808,
        291648307200,
        "Radford et al. 2019, smallest (124M); the head is the word embedding" + TEXT % "1,024",
    ),
    "llama2_7b": (
        llama2_7b,
        291,
        6738415616,
        62921270886400,
        "Touvron et al. 2023, Llama 2 7B" + TEXT % "4,096",
    ),
}


def microseconds(values):
    return f"{sum(values) / len(values):.1f}us"


def document(name):
    make, tensors, elements, flops, source = MODELS[name]
    rows = make()
    found = (
        sum(row["elements"] > 0 for row in rows),
        sum(row["elements"] for row in rows),
        sum(row["forward_flops"] for row in rows),
    )
    if found != (tensors, elements, flops):
        sys.exit(f"make_layers.py: totals of {name} are {found}, not {(tensors, elements, flops)}")
    head = {
        "schema": "gradsync.layers/1",
        "$comment": "made by tools/make_layers.py",
        "name": name,
        "source": source,
        "element_bytes": 4,
        "batch": 0,
    }
    if name == "resnet50":
        head["times"] = {
            "forward": microseconds(FORWARD_US),
            "backward": microseconds(BACKWARD_US),
            "optimizer": microseconds(OPTIMIZER_US),
            "source": TIMES_SOURCE,
        }
    text = json.dumps(head, indent=2)[:-2] + ',\n  "tensors": [\n'
    text += ",\n".join("    " + json.dumps(row) for row in rows) + "\n  ]\n}\n"
    json.loads(text)
    return text


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_layers.py FOLDER")
    texts = {name: document(name) for name in MODELS}
    for name, text in texts.items():
        with open(os.path.join(sys.argv[1], name + ".json"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
