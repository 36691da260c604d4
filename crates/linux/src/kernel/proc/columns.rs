//! Structures whose members are columns or keys of a kernel file, found by name.
//!
//! The statistics below `/proc/net` name each number, and kernels add, move and leave out numbers. So each
//! member is found by its name alone, and a number that a kernel does not print is `None`.

/// Declares a structure of optional numbers and how a name finds its member.
///
/// `set` tells whether the name is one of the structure's; other names are none of its business.
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

/// A structure whose members are found by the names that the kernel gives them.
pub(crate) trait Columns {
    /// The member with this name, and the name as a constant for errors.
    fn column(&mut self, name: &[u8]) -> Option<(&'static str, &mut Option<u64>)>;
}
