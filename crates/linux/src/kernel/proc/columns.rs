//! Structures whose members are columns or keys of a kernel file, found by name.
//!
//! The statistics below `/proc/net` name each number, and kernels add, move and remove numbers. So each
//! member is found by name, and a number that a kernel does not print is `None`.

/// Declares a structure of optional numbers, with a lookup of its members by name.
///
/// `column` returns `None` for names that do not belong to the structure.
macro_rules! columns {
    (
        $(#[$about:meta])*
        struct $name:ident {
            $( $(#[$member_about:meta])* $member:ident: $key:literal, )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name {
            $(
                $(#[$member_about])*
                #[doc = concat!("`", $key, "` of the file.")]
                pub(crate) $member: Option<u64>,
            )*
        }

        impl $crate::kernel::proc::columns::Columns for $name {
            fn column(&mut self, name: &[u8]) -> Option<(&'static str, &mut Option<u64>)> {
                $(
                    const _: () = assert!(!$key.is_empty());
                    if name == $key.as_bytes() {
                        return Some(($key, &mut self.$member));
                    }
                )*
                None
            }
        }
    };
}

pub(crate) use columns;

/// A structure whose members are found by the kernel's names.
pub(crate) trait Columns {
    /// The member with this name, and the name as a constant for errors.
    fn column(&mut self, name: &[u8]) -> Option<(&'static str, &mut Option<u64>)>;
}
