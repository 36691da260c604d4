//! How many files this process may have open.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Takes all that the system grants: each host needs a few, and the usual limit (`ulimit -n`) is 1,024.
pub(crate) fn allow_many() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without more, the hosts beyond the limit fail, and say so.
    let _ = setrlimit(Resource::Nofile, limit);
}
