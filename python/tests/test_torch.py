"""cuarena.torch with PyTorch itself. Each test runs a program in a process of its own, since an
allocator is for the whole process.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from conftest import NO_DEVICE, needs_device, needs_gpu

torch = pytest.importorskip("torch")

SECONDS = float(os.environ.get("CUARENA_TEST_SECONDS", "300"))
GPUS = 0 if NO_DEVICE else torch.cuda.device_count()


def program(code, *arguments, begin="import torch\nimport cuarena.torch\n", **environment):
    """Run a program; what it printed."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", begin + textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    return ran.stdout


# ---- Without a GPU ----


def test_options_that_are_not_accepted_are_named():
    out = program("""
        try:
            cuarena.torch.enable(options="limt=3")
        except cuarena.InvalidArgumentError as error:
            print(error, cuarena.torch.enabled())
    """)
    assert "limt" in out and "False" in out


def test_what_cannot_be_had_says_what_to_use_instead():
    out = program("""
        cuarena.torch.enable("1GiB")
        other = torch.cuda.memory.CUDAPluggableAllocator(
            cuarena._native.__file__, "cuarena_torch_alloc", "cuarena_torch_free")
        share = torch.UntypedStorage(1)._share_cuda_
        calls = (lambda: torch.cuda.MemPool(other.allocator()), share)
        for call in calls:
            try:
                call()
            except RuntimeError as error:
                print(error)
    """)
    assert "cuarena.torch.pool()" in out
    assert "cuarena.torch.pool(options='backing=malloc')" in out


def test_this_pytorch_can_be_answered():
    assert program("cuarena.torch.enable()\nprint(cuarena._torch.answer())").strip() == "3"


def test_benchmarks_stay_off_where_they_cannot_be_answered():
    out = program("""
        import warnings
        from cuarena.torch import _guards
        _guards._guard_benchmark()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.backends.cudnn.benchmark = True
        print(seen[0].message, torch.backends.cudnn.benchmark)
    """)
    assert "cuarena.torch.pool()" in out and out.strip().endswith("False")


def test_a_pool_beside_an_enabled_arena_is_refused():
    out = program("""
        cuarena.torch.enable("1GiB")
        cuarena.torch.enable("2GiB")
        try:
            cuarena.torch.pool()
        except RuntimeError as error:
            print(error)
    """)
    assert "cuarena.torch.enable" in out


def test_a_program_runs_unchanged(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch, cuarena.torch\n"
        "if __name__ == '__main__':\n"
        "    print(sys.argv[1:], cuarena.torch.enabled(), torch._C._cuda_getAllocatorBackend())\n"
    )
    command = [
        sys.executable,
        "-m",
        "cuarena.torch",
        "--limit",
        "50%",
        str(script),
        "-x",
        "--limit",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "['-x', '--limit'] True pluggable", ran.stderr
    command = [sys.executable, "-m", "cuarena.torch", "-m", "script", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert ran.stdout.strip() == "['1'] True pluggable", ran.stderr


@needs_device
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_a_refusal_is_pytorch_s_own_exception(tmp_path):
    source, library = tmp_path / "call.c", tmp_path / "call.so"
    source.write_text(
        "#include <stddef.h>\n"
        "extern void *(*target)(size_t, int, void *);\n"
        "void *(*target)(size_t, int, void *);\n"
        "void call(void) { target((size_t)200 << 20, 0, NULL); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    out = program(
        """
        import ctypes, sys
        cuarena.torch.enable("64MiB", report=sys.argv[2])
        call = ctypes.CDLL(sys.argv[1])
        ctypes.c_void_p.in_dll(call, "target").value = cuarena._torch.address("cuarena_torch_alloc")
        hooks = cuarena.torch._allocator.allocator()
        hooks.set_reset_fn(ctypes.cast(call.call, ctypes.c_void_p).value)
        for _ in range(3):
            try:
                torch._C._cuda_emptyCache()
            except torch.OutOfMemoryError as error:
                print(error)
        print(cuarena.torch.last_report())
        """,
        str(library),
        str(tmp_path / "report"),
    )
    assert out.count("CUDA out of memory. Tried to allocate 200.00 MiB. GPU 0 has") == 3
    assert out.count("The limit is 64.00 MiB. A request of up to 64.00 MiB would have") == 3
    assert len(list(tmp_path.glob("report-*.json"))) == 3
    assert out.strip().endswith("-2.json")


# ---- On a GPU ----


@needs_gpu
def test_torch_s_figures_are_the_arena_s():
    program("""
        cuarena.torch.enable("4GiB")
        x = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        y = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
        assert torch.cuda.memory_allocated() == 8 << 20, torch.cuda.memory_allocated()
        del y
        assert torch.cuda.memory_allocated() == 3 << 20
        assert torch.cuda.max_memory_allocated() == 8 << 20
        assert torch.cuda.memory_reserved() >= 8 << 20
        assert torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved()
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == 3 << 20
        stats = torch.cuda.memory_stats()
        assert stats["allocation.all.current"] == 1 and stats["allocation.all.allocated"] == 2
        torch.cuda.reset_accumulated_memory_stats()
        assert torch.cuda.memory_stats()["allocation.all.allocated"] == 0
        assert "Allocated memory" in torch.cuda.memory_summary()
        free, total = torch.cuda.mem_get_info()
        assert free == (4 << 30) - (3 << 20), free
        assert torch.cuda.get_per_process_memory_fraction() < 1
        snapshot = torch.cuda.memory._snapshot()
        all_ = [b for s in snapshot["segments"] for b in s["blocks"]]
        live = [b for b in all_ if b["state"] == "active_allocated"]
        assert len(live) == 1 and live[0]["requested_size"] == 3 << 20, live
        assert live[0]["address"] == x.data_ptr()
        torch.cuda.memory._dump_snapshot("/dev/null")
        assert torch.cuda.memory_snapshot()
        assert torch.accelerator.memory_allocated() == 3 << 20
        x = None
        torch.accelerator.empty_cache()
        assert torch.cuda.memory_reserved() == 0
        assert cuarena.torch.stats()["live_blocks"] == 0
    """)


@needs_gpu
def test_out_of_memory_names_tags_and_the_program_goes_on(tmp_path):
    out = program(
        """
        import sys
        cuarena.torch.enable("1GiB", report=sys.argv[1])
        with cuarena.torch.tag("weights"):
            w = torch.empty(300 << 20, dtype=torch.uint8, device="cuda")
        with cuarena.torch.tag("cache"):
            c = torch.empty(400 << 20, dtype=torch.uint8, device="cuda")
        try:
            torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print(error)
        x = torch.empty(300 << 20, dtype=torch.uint8, device="cuda").fill_(3)
        assert int(x.min()) == int(x.max()) == 3
        """,
        str(tmp_path / "report"),
    )
    assert "Tried to allocate 1.00 GiB" in out
    assert "The largest tags: cache 400.00 MiB in 1 blocks, weights 300.00 MiB in 1 blocks" in out
    fitted = float(re.search(r"A request of up to ([0-9.]+) MiB would have fitted", out)[1])
    assert 280 < fitted <= 324
    assert len(list(tmp_path.glob("report-*.json"))) == 1


@needs_gpu
def test_out_of_memory_in_a_backward_pass_is_an_exception():
    out = program("""
        cuarena.torch.enable("600MiB", report=False)
        x = torch.randn(1 << 26, device="cuda", requires_grad=True)  # 256 MiB
        y = (x * 2).sum()
        try:
            hold = torch.empty(90 << 20, dtype=torch.uint8, device="cuda")
            y.backward()
            (x * 2 * x).sum().backward()
        except torch.OutOfMemoryError as error:
            print("refused", error)
    """)
    assert "refused CUDA out of memory" in out


@needs_gpu
def test_cuda_that_was_used_cannot_get_another_allocator():
    out = program("""
        torch.zeros(1, device="cuda")
        try:
            cuarena.torch.enable()
        except RuntimeError as error:
            print(error)
    """)
    assert "before anything that uses a GPU" in out


@needs_gpu
def test_recorded_streams_keep_tensors_whole():
    program("""
        cuarena.torch.enable("4GiB")
        side = torch.cuda.Stream()
        for i in range(200):
            x = torch.full((1 << 20,), float(i), device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.cuda._sleep(200000)
                total = x.sum()
            x.record_stream(side)
            del x
            y = torch.full((1 << 20,), -1.0, device="cuda")  # would be in the place of x
            torch.cuda.current_stream().wait_stream(side)
            assert total.item() == i * (1 << 20), (i, total.item())
    """)


@needs_gpu
def test_graphs_keep_their_tensors_and_give_them_back():
    program("""
        cuarena.torch.enable("4GiB")
        x = torch.zeros(1 << 20, device="cuda")
        for round in range(3):
            g, h = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = x + 1
                z = (y * 2).relu() + y
            with torch.cuda.graph(h, pool=g.pool()):
                last = z * 10
            assert cuarena.torch.stats()["captured_bytes"] >= 8 << 20
            for i in range(5):
                others = [torch.full((1 << 20,), 1e9, device="cuda") for _ in range(8)]
                x.fill_(i)
                g.replay()
                h.replay()
                assert last[0].item() == 10 * 3 * (i + 1), last[0].item()
                del others
            del y, z, last
            g.reset()
            h.reset()
            torch.cuda.synchronize()
            assert cuarena.torch.stats()["captured_bytes"] == 0
    """)


@needs_gpu
def test_a_capture_that_fails_leaves_the_arena_usable():
    program("""
        cuarena.torch.enable("4GiB")
        x = torch.ones(1 << 20, device="cuda")
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                y = x + 1
                y.sum().item()  # not while a stream is captured
        except RuntimeError as error:
            print(error)
        y = None
        torch.cuda.synchronize()
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            z = x * 3
        g.replay()
        assert z.sum().item() == 3 << 20
        assert (x + x).sum().item() == 2 << 20
    """)


TRAIN = """
import random
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
draw = random.Random(3)
for _ in range(20):
    loss = model(torch.randn(draw.randrange(1, 2000), 512, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item().hex())
"""


@needs_gpu
def test_losses_are_those_of_pytorch_s_allocator_bit_by_bit():
    theirs = program("import torch\n" + TRAIN, begin="", CUBLAS_WORKSPACE_CONFIG=":4096:8")
    begin = "import torch\nimport cuarena.torch\ncuarena.torch.enable('2GiB')\n"
    ours = program(TRAIN, begin=begin, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    assert ours == theirs


@needs_gpu
def test_convolutions_run_in_a_program_that_asks_for_benchmarks():
    program("""
        cuarena.torch.enable("4GiB")
        torch.backends.cudnn.benchmark = True
        assert torch.backends.cudnn.benchmark
        model = torch.nn.Conv2d(3, 16, 3).cuda()
        model(torch.randn(8, 3, 64, 64, device="cuda")).sum().backward()
    """)


@needs_gpu
def test_a_mempool_of_pytorch_s_lies_in_the_arena():
    program("""
        cuarena.torch.enable("4GiB")
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            x = torch.ones(1 << 20, device="cuda")
        assert torch.cuda.memory_allocated() == 4 << 20
        assert x.sum().item() == 1 << 20
        del x, pool
        assert torch.cuda.memory_allocated() == 0
    """)


@needs_gpu
def test_workers_that_fork_leave_the_arena_alone():
    program("""
        from torch.utils.data import DataLoader, TensorDataset
        cuarena.torch.enable("2GiB")
        x = torch.ones(1 << 20, device="cuda")
        data = TensorDataset(torch.arange(256.0))
        for epoch in range(2):
            total = 0.0
            for (batch,) in DataLoader(data, 16, num_workers=2, pin_memory=True):
                total += batch.cuda(non_blocking=True).sum().item()
            assert total == 255 * 256 / 2
        assert x.sum().item() == 1 << 20
    """)


@needs_gpu
def test_options_come_from_the_environment():
    out = program(
        """
        cuarena.torch.enable()
        torch.zeros(1, device="cuda")
        print(cuarena.torch.stats()["limit_bytes"])
        """,
        CUARENA_CONF="limit=1GiB,steal=first",
    )
    assert out.strip() == str(1 << 30)


@needs_gpu
def test_a_compiled_model_runs():
    program("""
        cuarena.torch.enable("4GiB")
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).cuda()
        x = torch.randn(32, 64, device="cuda")
        for mode in (None, "reduce-overhead"):
            torch._dynamo.reset()
            fast = torch.compile(model, mode=mode)
            for _ in range(4):
                with torch.no_grad():
                    torch.testing.assert_close(fast(x).clone(), model(x))
    """)


# ---- Pools ----


@needs_gpu
def test_a_pool_has_what_all_threads_allocate_and_sleeps():
    program("""
        pool = cuarena.torch.pool("4GiB")
        with pool:
            w = torch.randn(8 << 20, device="cuda", requires_grad=True)
            (w * w).sum().backward()  # in a thread of its own
            expected = w.detach().sum().item()
            assert cuarena.torch.stats()["live_bytes"] >= 64 << 20, cuarena.torch.stats()
        held = pool.awake_bytes
        assert held >= 64 << 20
        before = torch.cuda.mem_get_info()[0]
        assert pool.sleep() == held and pool.asleep_bytes == held
        assert torch.cuda.mem_get_info()[0] - before >= held * 9 // 10
        assert pool.wake() == held
        assert w.detach().sum().item() == expected
        torch.testing.assert_close(w.grad, 2 * w.detach())
        pool.sleep(keep=False)
        pool.wake()
        w.detach().fill_(1.0)
        assert w.detach().sum().item() == 8 << 20
        del w
    """)


@needs_gpu
def test_graphs_beside_a_pool_keep_private_pools():
    program("""
        pool = cuarena.torch.pool("4GiB")
        with pool:
            x = torch.zeros(1 << 20, device="cuda")
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                y = (x + 1) * 2
            after = torch.ones(1 << 20, device="cuda")
            x.fill_(3)
            g.replay()
            assert y[0].item() == 8 and after.sum().item() == 1 << 20
            assert cuarena.torch.stats()["live_bytes"] > 0
        assert torch.cuda.memory_allocated() > 0
    """)


@needs_gpu
def test_a_pool_that_is_full_is_out_of_memory():
    out = program("""
        with cuarena.torch.pool("256MiB", report=False):
            try:
                torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError as error:
                print("refused", error)
            x = torch.ones(1 << 20, device="cuda")
            assert x.sum().item() == 1 << 20
    """)
    assert "refused CUDA out of memory" in out


@needs_gpu
def test_tensors_of_a_pool_that_is_not_mapped_are_shared(tmp_path):
    script = tmp_path / "share.py"
    script.write_text(
        "import torch, cuarena.torch, torch.multiprocessing as mp\n"
        "def double(x, done):\n"
        "    x.mul_(2)\n"
        "    torch.cuda.synchronize()\n"
        "    done.set()\n"
        "if __name__ == '__main__':\n"
        "    mp.set_start_method('spawn')\n"
        "    with cuarena.torch.pool('1GiB', options='backing=malloc') as pool:\n"
        "        x = torch.ones(1 << 20, device='cuda')\n"
        "        done = mp.Event()\n"
        "        child = mp.Process(target=double, args=(x, done))\n"
        "        child.start()\n"
        "        assert done.wait(120)\n"
        "        child.join()\n"
        "        assert x.sum().item() == 2 << 20\n"
        "        try:\n"
        "            pool.sleep()\n"
        "        except RuntimeError as error:\n"
        "            print(error)\n"
    )
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    assert "backing=vmm" in ran.stdout


# ---- Several GPUs ----


@needs_gpu
@pytest.mark.skipif(GPUS < 2, reason=f"{GPUS} GPUs, two are needed")
def test_each_device_has_an_arena():
    program("""
        cuarena.torch.enable("2GiB")
        a = torch.ones(1 << 20, device="cuda:0")
        b = torch.full((2 << 20,), 2.0, device="cuda:1")
        assert torch.cuda.memory_allocated(0) == 4 << 20
        assert torch.cuda.memory_allocated(1) == 8 << 20
        assert (a + b[: 1 << 20].to("cuda:0")).sum().item() == 3 << 20
        del b
        assert torch.cuda.memory_allocated(1) == 0
        assert cuarena.torch.arena(0) != cuarena.torch.arena(1)
        assert len(torch.cuda.memory._snapshot()["segments"]) >= 2
    """)
