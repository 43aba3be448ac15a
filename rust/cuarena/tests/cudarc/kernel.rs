//! A kernel that adds 1 to each word of a range.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, LaunchConfig};
use cudarc::nvrtc::Ptx;

/// `touch(address, bytes)`: thread t of n does the words t, t + n, ... The
/// stand-in has one of this name that does the same.
const TEXT: &str = "
.version 6.3
.target sm_70
.address_size 64

.visible .entry touch(
    .param .u64 touch_address,
    .param .u64 touch_bytes
)
{
    .reg .pred %done;
    .reg .b32 %x, %block, %width, %grid, %t, %n, %word;
    .reg .b64 %address, %bytes, %at, %step, %place;

    ld.param.u64 %address, [touch_address];
    ld.param.u64 %bytes, [touch_bytes];
    cvta.to.global.u64 %address, %address;
    mov.u32 %x, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %grid, %nctaid.x;
    mad.lo.u32 %t, %block, %width, %x;
    mul.lo.u32 %n, %grid, %width;
    mul.wide.u32 %at, %t, 4;
    mul.wide.u32 %step, %n, 4;
next:
    setp.ge.u64 %done, %at, %bytes;
    @%done bra end;
    add.u64 %place, %address, %at;
    ld.global.u32 %word, [%place];
    add.u32 %word, %word, 1;
    st.global.u32 [%place], %word;
    add.u64 %at, %at, %step;
    bra next;
end:
    ret;
}
";

pub fn touch(context: &Arc<CudaContext>) -> CudaFunction {
    let module = context.load_module(Ptx::from_src(TEXT)).expect("a module");
    module.load_function("touch").expect("a kernel")
}

pub const FEW: LaunchConfig = LaunchConfig {
    grid_dim: (4, 1, 1),
    block_dim: (64, 1, 1),
    shared_mem_bytes: 0,
};
