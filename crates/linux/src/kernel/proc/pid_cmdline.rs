//! `/proc/PID/cmdline`: the arguments of a program, each terminated by a zero byte.
//!
//! The program may overwrite them, so any bytes are valid.

use super::scan::{split_at_byte, split_at_last_byte};

/// The longest name of a program in `/proc/PID/stat`, in bytes; longer ones are cut.
pub(crate) const MAX_COMM: usize = 15;

/// The first argument, by custom the path the program was started with.
///
/// `None` for kernel threads and zombies, which have no arguments. For a program that shows its state there,
/// such as `nginx: worker process`, this is the whole text.
pub(crate) fn first_argument(cmdline: &[u8]) -> Option<&[u8]> {
    let first = split_at_byte(cmdline, 0).map_or(cmdline, |(first, _)| first);
    (!first.is_empty()).then_some(first)
}

/// The image name: `comm`, completed from the first argument where the kernel cut it.
///
/// A `comm` of less than [`MAX_COMM`] bytes is complete. Otherwise the file name of the first argument is
/// used if it begins with `comm`, up to a blank or colon after it: what follows is changing state, and a name
/// must not change. `cmdline` is only needed if [`is_cut`].
pub(crate) fn image_name<'a>(comm: &'a [u8], cmdline: &'a [u8]) -> &'a [u8] {
    if !is_cut(comm) {
        return comm;
    }
    let Some(argument) = first_argument(cmdline) else {
        return comm;
    };
    let file_name = split_at_last_byte(argument, b'/').map_or(argument, |(_, file_name)| file_name);
    let Some(more) = file_name.strip_prefix(comm) else {
        return comm;
    };
    let more_len = more.iter().position(|byte| matches!(byte, b' ' | b':')).unwrap_or(more.len());
    file_name.get(..comm.len().saturating_add(more_len)).unwrap_or(comm)
}

/// Whether the kernel may have cut this name. The name of a kernel thread can be longer and is complete.
pub(crate) fn is_cut(comm: &[u8]) -> bool {
    comm.len() == MAX_COMM
}

#[cfg(test)]
mod tests {
    use super::super::fixture::fixture;
    use super::super::pid_stat::PidStat;
    use super::*;

    #[test]
    fn cut_name_is_completed() {
        let stat = fixture("6.18/pid-long-name/stat");
        let comm = PidStat::parse(&stat).unwrap().comm;
        assert_eq!([comm, b"\n"].concat(), fixture("6.18/pid-long-name/comm"));
        let cmdline = fixture("6.18/pid-long-name/cmdline");
        assert_eq!(first_argument(&cmdline), Some(&b"./sleep-with-a-long-name"[..]));
        assert_eq!(image_name(comm, &cmdline), b"sleep-with-a-long-name");
    }

    #[test]
    fn arguments_complete_only_a_cut_name_that_they_begin_with() {
        let long = b"/bin/sleep-with-a-long-name\x0060\0";
        assert_eq!(image_name(b"sleep-with-a-lo", long), b"sleep-with-a-long-name");
        assert_eq!(image_name(b"Isolated Web Co", b"/usr/lib/firefox/firefox\0"), b"Isolated Web Co");
        assert_eq!(image_name(b"bash", b"-bash\0"), b"bash");
    }

    #[test]
    fn kernel_thread_has_no_arguments() {
        assert_eq!(first_argument(&fixture("6.18/kthread/cmdline")), None);
        assert_eq!(image_name(b"kworker/0:1-eve", b""), b"kworker/0:1-eve");
    }

    #[test]
    fn names() {
        for (comm, cmdline, name) in [
            ("fifteen-letters", "/a/fifteen-letters\0-x", "fifteen-letters"),
            ("fifteen-letters", "/a/fifteen-letters-and-more", "fifteen-letters-and-more"),
            ("fifteen-letters", "fifteen-letters-2: worker 7/9", "fifteen-letters"),
            ("fifteen-letters", "fifteen-letters-2: worker 7", "fifteen-letters-2"),
            ("fifteen-letters", "fifteen-letters and state", "fifteen-letters"),
            ("fifteen-letters", "/a/other", "fifteen-letters"),
            ("fifteen-letters", "\0fifteen-letters-2", "fifteen-letters"),
            ("short", "/a/short-but-not-cut", "short"),
            ("", "", ""),
        ] {
            let found = image_name(comm.as_bytes(), cmdline.as_bytes());
            assert_eq!(found, name.as_bytes(), "{comm} {}", cmdline.escape_debug());
        }
    }

    #[test]
    fn every_prefix_gives_a_name_that_begins_with_comm() {
        let cmdline = fixture("6.18/pid-long-name/cmdline");
        for len in 0..=cmdline.len() {
            assert!(image_name(b"sleep-with-a-lo", &cmdline[..len]).starts_with(b"sleep-with-a-lo"));
        }
    }
}
