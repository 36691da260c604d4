//! Systems without restartable sequences: processors other than x86-64, C libraries other than glibc.

/// Where the area of each thread is: nowhere.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Area {}

impl Area {
    /// There is none.
    pub(crate) const fn registered() -> Option<Area> {
        None
    }

    /// Number of the processor that runs this thread now.
    pub(crate) const fn processor(self) -> u32 {
        match self {}
    }

    /// Adds to the word of the processor that runs this thread.
    ///
    /// # Safety
    ///
    /// There is no area, so this is never called.
    #[expect(unsafe_code, reason = "the same signature as where there are restartable sequences")]
    pub(crate) const unsafe fn add(self, _: std::ptr::NonNull<u8>, _: usize, _: u32, _: u64) -> bool {
        match self {}
    }
}
