"""Two processes on gloo paste what `gradsync recommend` says for PyTorch, and train with it.

    pastes.py FOLDER RANK      FOLDER: NAME.py, one for each strategy

Each rank starts with other weights, sees other samples, and has BatchNorm. What must hold: weights are
equal on both after the paste's first average and stay so where it averages each step; and they are those
of one process that sees all samples where the strategy makes exact updates."""
import copy
import glob
import os
import sys
import warnings

import torch
import torch.distributed as dist

folder, rank = sys.argv[1], int(sys.argv[2])
STEPS, BATCH = 8, 4  # the periods of the pastes divide the steps
EXACT = {"allreduce", "hierarchical", "sharded"}


def give_gloo_what_it_lacks():
    """NCCL has both; gloo has them as sums and lists."""

    def reduce_scatter_tensor(output, whole, group=None):
        summed = whole.clone()
        dist.all_reduce(summed, group=group)
        mine = dist.get_rank(group)
        output.copy_(summed[mine * output.numel():(mine + 1) * output.numel()])

    def all_gather_into_tensor(whole, part, group=None):
        parts = [torch.empty_like(part) for _ in range(dist.get_world_size(group))]
        dist.all_gather(parts, part, group=group)
        whole.copy_(torch.cat(parts))

    dist.reduce_scatter_tensor = reduce_scatter_tensor
    dist.all_gather_into_tensor = all_gather_into_tensor


def make_model(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(),
                               torch.nn.Linear(8, 3))


def samples(step, of_rank):
    maker = torch.Generator().manual_seed(100 * step + of_rank)
    return (torch.randn(BATCH, 6, generator=maker), torch.randint(0, 3, (BATCH,), generator=maker))


def spread(tensors):
    """The largest difference between the ranks."""
    worst = 0.0
    for tensor in tensors:
        both = [torch.empty_like(tensor) for _ in range(2)]
        dist.all_gather(both, tensor.detach().contiguous())
        worst = max(worst, (both[0] - both[1]).abs().max().item())
    return worst


def train(name, text):
    model = make_model(rank)  # other weights on each rank: the paste has to see to it
    scope = {"model": model}
    exec(compile(text, name, "exec"), scope)
    model, optimizer = scope["model"], scope["optimizer"]
    start = copy.deepcopy([p.detach() for p in model.parameters()])
    assert spread(start) == 0.0, f"{name}: other weights at the start"
    model.eval() if name in EXACT else model.train()  # one process has other batches to normalise by
    for step in range(STEPS):
        inputs, targets = samples(step, rank)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
        if "averager" in scope:
            scope["averager"].average_parameters(model.parameters())
    if "average_buffers" in scope:
        scope["average_buffers"]()
        buffers = [b for b in model.buffers() if b.is_floating_point()]
        assert spread(buffers) < 1e-6, f"{name}: other statistics of BatchNorm"
    parameters = [p.detach() for p in model.parameters()]
    assert spread(parameters) < 1e-6, f"{name}: other weights after {STEPS} steps"
    moved = max((a - b).abs().max().item() for a, b in zip(parameters, start))
    assert moved > 1e-3, f"{name}: does not learn"
    if name in EXACT:
        check_exact(name, parameters)


def check_exact(name, parameters):
    """Plain SGD with momentum of one process on the samples of both."""
    alone = make_model(0)
    alone.eval()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.2, momentum=0.9)
    for step in range(STEPS):
        both = [samples(step, r) for r in range(2)]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(alone(torch.cat([b[0] for b in both])),
                                          torch.cat([b[1] for b in both])).backward()
        optimizer.step()
    off = max((a - b).abs().max().item() for a, b in zip(parameters, alone.parameters()))
    assert off < 1e-4, f"{name}: weights are {off} off those of one process"


warnings.simplefilter("ignore")
dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
give_gloo_what_it_lacks()
torch.set_num_threads(1)
for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
    train(os.path.basename(path)[:-3], open(path).read())
    dist.barrier()
    if rank == 0:
        print(os.path.basename(path)[:-3])
