//! Nothing lives longer than it says, and no values do.
#![allow(unused)]
use cuarena::heap::{Plan, PlanUnderWay};
use cuarena::*;

fn blocks<'a>(blocks: Blocks<'a>) -> Blocks<'static> {
    blocks
}

fn device_ptr<'a>(address: DevicePtr<'a>) -> DevicePtr<'static> {
    address
}

fn host_view<'a>(view: HostView<'a>) -> HostView<'static> {
    view
}

fn host_view_mut<'a>(view: HostViewMut<'a>) -> HostViewMut<'static> {
    view
}

fn out_of_memory<'a>(request: OutOfMemory<'a>) -> OutOfMemory<'static> {
    request
}

fn pinned_block<'a>(pinned: PinnedBlock<'a>) -> PinnedBlock<'static> {
    pinned
}

fn plan<'a>(plan: Plan<'a>) -> Plan<'static> {
    plan
}

fn plan_under_way<'a>(plan: PlanUnderWay<'a>) -> PlanUnderWay<'static> {
    plan
}

fn pod_view<'a>(view: PodView<'a, u8>) -> PodView<'static, u8> {
    view
}

fn pod_view_mut<'a>(view: PodViewMut<'a, u8>) -> PodViewMut<'static, u8> {
    view
}

fn release_error<'a>(error: ReleaseError<'a>) -> ReleaseError<'static> {
    error
}

fn scope<'a>(scope: Scope<'a>) -> Scope<'static> {
    scope
}

fn values_of_a_block<'a>(block: TypedBlock<&'a u8>) -> TypedBlock<&'static u8> {
    block
}

fn values_of_a_view<'a, 'b>(view: HostView<'b, &'a u8>) -> HostView<'b, &'static u8> {
    view
}

fn values_of_a_view_mut<'a, 'b>(view: HostViewMut<'b, &'a u8>) -> HostViewMut<'b, &'static u8> {
    view
}

fn main() {}
