//! A typed array of arena memory that cudarc takes for one of its own.
//!
//! *Invariants.* The bytes are pinned, so the address never changes. They are
//! freed in the order of the home stream, which has then waited for all
//! foreign uses: whoever gets them next on that stream comes after, and the
//! library sees to everybody else.
//!
//! *Cost.* 32 bytes. To make and drop one is the C calls, one atomic addition
//! and one subtraction, those of its only share; what foreign uses and views
//! need is allocated at the first of them, and NULL before.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use ::cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, SyncOnDrop};

use super::home::Home;
use super::uses::{self, ForeignUse, Intent, Uses};
use super::view::View;
use crate::{ffi, Arena, Block, Result};

/// `[T]` in device memory of an arena, in the order of a stream.
///
/// [`ArenaStream`](super::ArenaStream) makes them. cudarc's functions take one
/// wherever they take anything that is [`DevicePtr`](::cudarc::driver::DevicePtr)
/// or [`DevicePtrMut`](::cudarc::driver::DevicePtrMut), and
/// [`LaunchArgs`](::cudarc::driver::LaunchArgs) takes `&` and `&mut` of one as
/// an argument.
///
/// It is `Send` and `Sync` where `T` is. Dropping it frees the bytes in the
/// order of its stream: no wait, and no driver call unless other streams used
/// them. An error of such a call is parked in the context, as those of cudarc's
/// own drops are, and the next of its calls returns it.
///
/// # Launches
///
/// A launch on the home stream needs nothing. Around a launch on any other
/// stream call [`sync_for`](Self::sync_for), or pass a view: that the order is
/// kept is part of what the caller of `launch`, an unsafe function, answers for.
pub struct ArenaSlice<T> {
    /// What launches get a reference to.
    pub(super) address: u64,
    len: usize,
    pub(super) home: Arc<Home>,
    /// A box of it, which the slice owns; NULL until the first such use. Set
    /// once, and taken back by who has the slice to itself.
    shared: AtomicPtr<Shared<T>>,
    /// What it is to the compiler: threads may share it where they may share
    /// these.
    marker: PhantomData<(T, OnceLock<Box<Shared<T>>>)>,
}

/// What only slices that leave their home have.
struct Shared<T> {
    uses: Uses,
    view: OnceLock<View<T>>,
}

impl<T> ArenaSlice<T> {
    /// # Safety
    ///
    /// The address is one that the home gave for `len` of `T`, and nobody
    /// else's.
    #[inline]
    pub(super) unsafe fn new(address: u64, len: usize, home: Arc<Home>) -> Self {
        Self {
            address,
            len,
            home,
            shared: AtomicPtr::new(ptr::null_mut()),
            marker: PhantomData,
        }
    }

    /// How many `T` it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size in bytes.
    pub fn num_bytes(&self) -> usize {
        self.len * std::mem::size_of::<T>()
    }

    /// The stream it was allocated on and will be freed on.
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.home.cuda()
    }

    /// The bytes as a block, which compaction may move from now on. It is freed
    /// on the slice's stream, and work that is queued there comes before
    /// whatever becomes of it.
    ///
    /// The block is [in use](Block::is_in_use): what the stream does to it may
    /// not be over. [`ArenaStream::slice_of`](super::ArenaStream::slice_of)
    /// makes a slice of it again.
    ///
    /// Cost: two short calls of C; after foreign uses, what a drop costs.
    ///
    /// # Errors
    ///
    /// [`Lost`](crate::ErrorKind::Lost), and those of [`Arena::alloc_on`] for an
    /// empty slice. The slice is dropped then.
    pub fn into_block(mut self) -> Result<Block> {
        self.come_home();
        let arena = self.home.arena();
        if self.address == 0 {
            return arena.alloc_on(0, self.home.stream());
        }
        let (mut id, bytes) = (0, self.num_bytes());
        // SAFETY: the arena lives; the address is that of a live block, which
        // is this slice's.
        let status = unsafe { release(arena, self.address, &mut id) };
        arena.life().finish(status)?;
        let home = crate::home::Home::of(self.home.stream());
        let block = Block::new(arena, id, bytes, home);
        self.address = 0; // the block's from now on
        Ok(block)
    }

    /// Brackets work that cudarc cannot see on a stream that is not the
    /// slice's own, above all kernel launches.
    ///
    /// From now on the stream comes after all other uses of the slice; all
    /// later ones, and its end, come after what is queued until the bracket is
    /// dropped. This orders with tracking off too: it was asked for.
    ///
    /// Pass the slice to the launch by `&`, also where the kernel writes to it.
    ///
    /// ```no_run
    /// # use cuarena::interop::cudarc::ArenaSlice;
    /// # use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
    /// # use std::sync::Arc;
    /// fn launch_elsewhere(
    ///     slice: &ArenaSlice<f32>,
    ///     other: &Arc<CudaStream>,
    ///     kernel: &CudaFunction,
    /// ) -> Result<(), Box<dyn std::error::Error>> {
    ///     let bracket = slice.sync_for(other)?;
    ///     let mut launch = other.launch_builder(kernel);
    ///     launch.arg(slice);
    ///     // SAFETY: the kernel takes one pointer and stays within the slice.
    ///     unsafe { launch.launch(LaunchConfig::for_num_elems(slice.len() as u32))? };
    ///     drop(bracket);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Cost: on the home stream, nothing unless others used the slice. On
    /// another, an event recorded and waited for at either end.
    ///
    /// # Errors
    ///
    /// [`Driver`](crate::ErrorKind::Driver): no event could be made, recorded
    /// or waited for.
    pub fn sync_for<'a>(&'a self, stream: &'a Arc<CudaStream>) -> Result<ForeignUse<'a>> {
        if self.home.is(stream) {
            self.wait_shared(stream, Intent::Launch);
            return Ok(ForeignUse::none(stream));
        }
        let shared = self.shared();
        shared.wait_view(stream, Intent::Launch);
        ForeignUse::begin(&shared.uses, &self.home, stream)
    }

    /// All of it as cudarc's own view, which every function of cudarc takes.
    ///
    /// Views carry cudarc's two events, so launches on any stream are in order
    /// with other uses, exactly as far as cudarc's slices are: of several
    /// streams that *read* at once it remembers the last one only, so let the
    /// home wait for the others yourself ([`CudaStream::join`]) before they are
    /// written or dropped.
    ///
    /// Cost: the first view makes two events, each one lets the home wait for
    /// them and records one; with tracking off, nothing. From the first view
    /// on, uses on the home wait for these.
    ///
    /// A view does not outlive the slice:
    ///
    /// ```compile_fail,E0505
    /// # use cuarena::interop::cudarc::ArenaSlice;
    /// fn too_late(slice: ArenaSlice<f32>) -> usize {
    ///     let view = slice.as_view();
    ///     drop(slice);
    ///     view.len()
    /// }
    /// ```
    ///
    /// and while one is there the bytes do not become a block that may move:
    ///
    /// ```compile_fail,E0505
    /// # use cuarena::interop::cudarc::ArenaSlice;
    /// fn moved_away(slice: ArenaSlice<f32>) -> usize {
    ///     let view = slice.slice(1..);
    ///     let block = slice.into_block();
    ///     view.len()
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If the driver refuses to make an event.
    pub fn as_view(&self) -> CudaView<'_, T> {
        self.as_cuda_slice().as_view()
    }

    /// A part of it as cudarc's own view; see [`as_view`](Self::as_view).
    ///
    /// # Panics
    ///
    /// If the range is not within the slice, or the driver refuses to make an
    /// event.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> CudaView<'_, T> {
        self.as_cuda_slice().slice(range)
    }

    /// All of it as cudarc's own view, to write; see
    /// [`as_view`](Self::as_view).
    ///
    /// # Panics
    ///
    /// If the driver refuses to make an event.
    pub fn as_view_mut(&mut self) -> CudaViewMut<'_, T> {
        self.view_mut().as_view_mut()
    }

    /// A part of it as cudarc's own view, to write; see
    /// [`as_view`](Self::as_view).
    ///
    /// # Panics
    ///
    /// If the range is not within the slice, or the driver refuses to make an
    /// event.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> CudaViewMut<'_, T> {
        self.view_mut().slice_mut(range)
    }

    /// As cudarc's own slice, for functions that take nothing else; see
    /// [`as_view`](Self::as_view).
    ///
    /// There is no `&mut` of it: whoever had that could keep the slice, and
    /// cudarc would free it with the driver.
    ///
    /// ```compile_fail,E0308
    /// # use cuarena::interop::cudarc::ArenaSlice;
    /// # use cudarc::driver::CudaSlice;
    /// fn take(slice: &mut ArenaSlice<f32>, other: CudaSlice<f32>) -> CudaSlice<f32> {
    ///     std::mem::replace(slice.as_cuda_slice(), other)
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If the driver refuses to make an event.
    pub fn as_cuda_slice(&self) -> &CudaSlice<T> {
        let shared = self.shared();
        shared.uses.wait(self.stream(), Intent::Read);
        let view = self.view(shared);
        view.follow_home(self.stream(), Intent::Read);
        view.slice()
    }

    fn view_mut(&mut self) -> &mut CudaSlice<T> {
        let shared = self.shared();
        shared.uses.wait(self.stream(), Intent::Write);
        self.view(shared)
            .follow_home(self.home.cuda(), Intent::Write);
        // SAFETY: shared() has made the box, and the slice is borrowed mutably.
        let shared = unsafe { &mut **self.shared.get_mut() };
        let view = shared.view.get_mut().expect("view() has made it");
        view.slice_mut()
    }

    fn view<'a>(&self, shared: &'a Shared<T>) -> &'a View<T> {
        // SAFETY: the address is that of `len` of `T`, and the slice gives up
        // the view before it frees them.
        let make = || unsafe { View::new(self.stream(), self.address, self.len) };
        shared.view.get_or_init(make)
    }

    /// The box, if there is one.
    #[inline]
    fn made(&self) -> Option<&Shared<T>> {
        // SAFETY: it is given back only by who has the slice to itself.
        unsafe { self.shared.load(Ordering::Acquire).as_ref() }
    }

    fn shared(&self) -> &Shared<T> {
        self.made().unwrap_or_else(|| self.make())
    }

    /// The first of several that come at once makes it for all of them.
    #[cold]
    fn make(&self) -> &Shared<T> {
        let new = Box::into_raw(Box::new(Shared {
            uses: Uses::default(),
            view: OnceLock::new(),
        }));
        let (none, order) = (ptr::null_mut(), Ordering::AcqRel);
        let place = &self.shared;
        match place.compare_exchange(none, new, order, Ordering::Acquire) {
            // SAFETY: the slice owns it from now on, and keeps it that long.
            Ok(_) => unsafe { &*new },
            Err(first) => {
                // SAFETY: made just now, and given to nobody.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: as above.
                unsafe { &*first }
            }
        }
    }

    /// Lets a stream wait for what streams other than the home have done.
    #[inline]
    fn wait_shared(&self, stream: &CudaStream, intent: Intent) {
        if let Some(shared) = self.made() {
            shared.wait_view(stream, intent);
            shared.uses.wait(stream, intent);
        }
    }

    /// Before work on the home; what others did is waited for.
    #[inline]
    pub(super) fn order_home(&self, intent: Intent) {
        if self.made().is_some() && self.home.is_tracking() {
            self.wait_shared(self.stream(), intent);
        }
    }

    /// Before work on any stream; what to do after it.
    #[inline]
    pub(super) fn order<'a>(&'a self, stream: &'a CudaStream, intent: Intent) -> SyncOnDrop<'a> {
        if self.home.is(stream) {
            self.order_home(intent);
            return SyncOnDrop::Sync(None);
        }
        self.order_foreign(stream, intent)
    }

    #[cold]
    fn order_foreign<'a>(&'a self, stream: &'a CudaStream, intent: Intent) -> SyncOnDrop<'a> {
        if !self.home.is_tracking() {
            return SyncOnDrop::Sync(None);
        }
        let shared = self.shared();
        shared.wait_view(stream, intent);
        uses::begin(&shared.uses, &self.home, stream, intent)
    }

    /// Gives up views and lets the home wait for all other streams.
    #[inline]
    fn come_home(&mut self) {
        let shared = std::mem::replace(self.shared.get_mut(), ptr::null_mut());
        if !shared.is_null() {
            // SAFETY: the slice owned it, and does so no longer.
            self.give_up(*unsafe { Box::from_raw(shared) });
        }
    }

    #[cold]
    fn give_up(&self, shared: Shared<T>) {
        if self.home.is_tracking() {
            shared.uses.wait(self.stream(), Intent::Write);
        }
        if let Some(view) = shared.view.into_inner() {
            view.end();
        }
    }
}

/// Names the block at an address, and ends the pin that it has as a pointer. One
/// that never moves has none to end.
///
/// # Safety
///
/// The address is that of a live block.
unsafe fn release(arena: &Arena, address: u64, id: &mut u64) -> ffi::cuarena_status_t {
    let pointer = address as *mut c_void;
    // SAFETY: the arena lives; the caller says the rest.
    unsafe {
        match ffi::cuarena_block_of(arena.raw(), pointer, id) {
            ffi::CUARENA_OK => unless_stable(ffi::cuarena_unpin(arena.raw(), pointer)),
            refused => refused,
        }
    }
}

/// That a block which never moves has such a pin for ever is no error.
pub(super) fn unless_stable(status: ffi::cuarena_status_t) -> ffi::cuarena_status_t {
    match status {
        ffi::CUARENA_BAD_ARGUMENT => ffi::CUARENA_OK,
        status => status,
    }
}

impl<T> Shared<T> {
    fn wait_view(&self, stream: &CudaStream, intent: Intent) {
        if let Some(view) = self.view.get() {
            view.wait(stream, intent);
        }
    }
}

impl<T> Drop for ArenaSlice<T> {
    #[inline]
    fn drop(&mut self) {
        self.come_home();
        if self.address != 0 {
            // SAFETY: the home gave it, comes after all uses on other streams,
            // and nobody can name the slice any more.
            unsafe { self.home.free(self.address) };
        }
    }
}

impl<T> fmt::Debug for ArenaSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaSlice")
            .field("address", &format_args!("{:#x}", self.address))
            .field("len", &self.len)
            .field("stream", self.stream())
            .finish_non_exhaustive()
    }
}
