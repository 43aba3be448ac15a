"""What the tests share: the memories that there are here."""

import os

import pytest

import cuarena


def device_reason():
    """Why there is no device; None if there is one."""
    try:
        cuarena.device_info(0)
    except cuarena.ArenaError as error:
        return str(error)
    return None


NO_DEVICE = device_reason()
if NO_DEVICE and os.environ.get("CUARENA_REQUIRE_GPU") == "1":
    pytest.exit(f"CUARENA_REQUIRE_GPU is set, but: {NO_DEVICE}", returncode=1)
STANDIN = NO_DEVICE is None and "stand-in" in cuarena.device_info(0).name.lower()

needs_device = pytest.mark.skipif(NO_DEVICE is not None, reason=str(NO_DEVICE))
needs_gpu = pytest.mark.skipif(
    NO_DEVICE is not None or STANDIN,
    reason="the stand-in driver runs no kernels of frameworks" if STANDIN else str(NO_DEVICE),
)


@pytest.fixture(params=["pageable", pytest.param("device", marks=needs_device)])
def memory(request):
    """Each memory in turn: of the host, and of a device where there is one."""
    return request.param
