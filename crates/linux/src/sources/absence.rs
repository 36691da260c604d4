//! Which absence an error of a file or of netlink means.

use rustix::io::Errno;
use tallymon_provider::Absence;

use crate::kernel::netlink::socket::RouteError;
use crate::kernel::reusable_file::ReadError;

/// Why the values of an unreadable file are absent.
pub(crate) fn absence(error: &ReadError) -> Absence {
    if error.is_denied() {
        Absence::AccessDenied
    } else if error.is_gone() {
        Absence::NotInThisKernel
    } else {
        Absence::ReadFailed
    }
}

/// Why the values of a failed netlink request are absent.
pub(crate) fn absence_of_route(error: &RouteError) -> Absence {
    match error {
        RouteError::Socket(Errno::ACCESS | Errno::PERM) | RouteError::Kernel(Errno::ACCESS | Errno::PERM) => {
            Absence::AccessDenied
        }
        RouteError::Socket(Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT)
        | RouteError::Kernel(Errno::NOENT | Errno::INVAL | Errno::OPNOTSUPP)
        | RouteError::NoFamily => Absence::NotInThisKernel,
        _ => Absence::ReadFailed,
    }
}
