"""A program on PyTorch, or on CuPy, that knows nothing of arenas, for `cuarena run`.

check_frameworks_run.py torch|cupy: exits with 77 where there is no such module or no device, and
with an error if a number is wrong."""

import sys


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def run_torch():
    try:
        import torch
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("no device")
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(),
                                torch.nn.Linear(1024, 512)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs = torch.randn(256, 512, device="cuda")
    first = last = None
    for _ in range(50):
        optimizer.zero_grad()
        loss = (model(inputs) - inputs).pow(2).mean()
        loss.backward()
        optimizer.step()
        last = loss.item()
        first = first if first is not None else last
    assert last < first, (first, last)
    torch.cuda.empty_cache()
    with torch.no_grad():
        static = torch.ones(1000, device="cuda")
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            static * 2 + 1
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = static * 2 + 1
        static.fill_(4)
        graph.replay()
        assert bool((result == 9).all())
    print("right: the loss went from", first, "to", last)


def run_cupy():
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy has errors of its own for a missing device
        skip(error)
    for allocator in (None, cupy.cuda.MemoryAsyncPool().malloc, cupy.cuda.MemoryPool().malloc):
        cupy.cuda.set_allocator(allocator)
        for n in range(1, 200):
            a = cupy.arange(n * 100, dtype=cupy.float64)
            assert float((a * 2).sum()) == float(n * 100 * (n * 100 - 1))
    print("right")


if __name__ == "__main__":
    {"torch": run_torch, "cupy": run_cupy}[sys.argv[1]]()
