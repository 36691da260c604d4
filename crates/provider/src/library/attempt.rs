//! What a library tried and may not do, and how often: counts in a file of memory that the supervisor of the
//! library writes and the reader reads. The library never has this file open.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::MemfdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// A kind of thing that a library may not do, or that shows that it does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attempt {
    /// A signal to a process that the library has not forked.
    Signal,
    /// A change of the limits of such a process.
    Limits,
    /// Tracing, or the memory or descriptors of another process.
    Trace,
    /// Namespaces and mounts.
    Namespaces,
    /// Other calls that change the machine or the kernel.
    Machine,
    /// A system call of another architecture, whose number means something else.
    Architecture,
    /// A session of its own. This one is allowed, because it changes nothing.
    Session,
    /// Processes that were still there when the library had ended.
    LeftBehind,
    /// A change of a file, or of its mode or owner, outside of the folders that a library may change. The
    /// kernel decides whether it succeeds.
    Files,
    /// A signal to, or limits of, a process, while the library had too many processes to find out whether it is
    /// one of them.
    Unchecked,
    /// A change of a file that belongs to another user, in the folders that a library may change. The kernel
    /// decides whether it succeeds.
    FilesOfOthers,
    /// A change of a file that was not found in time, because its file system does not answer.
    Unfound,
    /// A change of a file whose path could not be read in time, because the memory with it does not answer.
    Unreadable,
}

impl Attempt {
    const ALL: [Attempt; 13] = [
        Attempt::Signal,
        Attempt::Limits,
        Attempt::Trace,
        Attempt::Namespaces,
        Attempt::Machine,
        Attempt::Architecture,
        Attempt::Session,
        Attempt::LeftBehind,
        Attempt::Files,
        Attempt::Unchecked,
        Attempt::FilesOfOthers,
        Attempt::Unfound,
        Attempt::Unreadable,
    ];

    /// What the library did, and what came of it.
    pub const fn words(self) -> &'static str {
        match self {
            Attempt::Signal => "tried to send a signal to a process that is not its own, which was refused",
            Attempt::Limits => {
                "tried to change the limits of a process that is not its own, which was refused"
            }
            Attempt::Trace => "tried to trace another process or to reach its memory, which was refused",
            Attempt::Namespaces => "tried to make or enter a namespace or to mount, which was refused",
            Attempt::Machine => {
                "tried a system call that changes the machine or the kernel, which was refused"
            }
            Attempt::Architecture => "tried a system call of another architecture, which was refused",
            Attempt::Session => "began a session of its own (setsid), in which a process can outlive others",
            Attempt::LeftBehind => "left processes behind, which were ended",
            Attempt::Files => "tried to change a file outside of /tmp, /var/tmp and /dev/shm",
            Attempt::Unchecked => {
                "has more than 1,024 processes, so its signals and limits could not be checked"
            }
            Attempt::FilesOfOthers => "tried to change a file of another user in /tmp, /var/tmp or /dev/shm",
            Attempt::Unfound => {
                "changed a file on a file system that does not answer, so its place could not be checked"
            }
            Attempt::Unreadable => {
                "changed a file whose path could not be read within 0.1 s, which was refused"
            }
        }
    }
}

const KINDS: usize = Attempt::ALL.len();

/// The counts of one library's process.
#[derive(Debug)]
pub(crate) struct Counts {
    file: File,
    /// In the supervisor what it has written, in the reader what it has read.
    last: [u64; KINDS],
}

impl Counts {
    /// Counts that are all zero.
    pub(crate) fn new() -> io::Result<Counts> {
        let file = rustix::fs::memfd_create("tallymon attempts", MemfdFlags::CLOEXEC)?;
        Ok(Counts { file: File::from(file), last: [0; KINDS] })
    }

    /// Sends them to the supervisor. It is the first message of the socket, and is in it before the
    /// supervisor starts, so no one waits.
    pub(crate) fn send(&self, socket: &OwnedFd) -> io::Result<()> {
        send_descriptor(socket, self.file.as_fd())
    }

    /// Takes the message of [`Counts::send`].
    pub(crate) fn receive(socket: &OwnedFd) -> io::Result<Counts> {
        Ok(Counts { file: File::from(receive_descriptor(socket)?), last: [0; KINDS] })
    }

    /// Counts one. The reader sees it at once.
    pub(crate) fn add(&mut self, what: Attempt) {
        let place = (0u64..).zip(Attempt::ALL).zip(&mut self.last).find(|((_, kind), _)| *kind == what);
        let Some(((number, _), count)) = place else { return };
        *count = count.saturating_add(1);
        // There is no one to report an error to.
        let _ = self.file.write_all_at(&count.to_le_bytes(), number.saturating_mul(8));
    }

    /// How often this one was counted here.
    pub(crate) fn count(&self, what: Attempt) -> u64 {
        let mut all = Attempt::ALL.into_iter().zip(self.last);
        all.find(|(kind, _)| *kind == what).map_or(0, |(_, count)| count)
    }

    /// The kinds that were counted since the last call.
    pub(crate) fn take(&mut self) -> Vec<Attempt> {
        let mut bytes = [0u8; 8 * KINDS];
        // A file that is shorter ends with zeros, which are nothing new.
        let _ = self.file.read_at(&mut bytes, 0);
        let counts = bytes.as_chunks::<8>().0.iter().map(|count| u64::from_le_bytes(*count));
        let mut taken = Vec::new();
        for ((kind, last), count) in Attempt::ALL.into_iter().zip(&mut self.last).zip(counts) {
            if count > *last {
                *last = count;
                taken.push(kind);
            }
        }
        taken
    }
}

/// Sends a descriptor over a socket that keeps packets apart.
pub(crate) fn send_descriptor(socket: &OwnedFd, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(b"TLYD")], &mut control, flags)?;
    Ok(())
}

/// Takes a descriptor from a socket; an error if the next message has none.
pub(crate) fn receive_descriptor(socket: &OwnedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0u8; 4];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let first = descriptors.flatten().next();
    first.ok_or_else(|| {
        io::Error::other("the first message of the reader has no descriptor: it is of another version")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn a_reader_sees_each_kind_that_was_counted_since_it_looked() {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.unwrap();
        let mut reader = Counts::new().unwrap();
        assert!(Counts::receive(&theirs).is_err(), "nothing was sent");
        reader.send(&ours).unwrap();
        let mut supervisor = Counts::receive(&theirs).unwrap();
        assert!(reader.take().is_empty());
        for kind in Attempt::ALL {
            supervisor.add(kind);
            supervisor.add(kind);
            assert_eq!(supervisor.count(kind), 2);
            assert_eq!(reader.take(), [kind]);
            assert!(reader.take().is_empty());
        }
        supervisor.add(Attempt::LeftBehind);
        supervisor.add(Attempt::Signal);
        assert_eq!(reader.take(), [Attempt::Signal, Attempt::LeftBehind]);
    }

    #[test]
    fn a_message_without_a_descriptor_is_an_error() {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.unwrap();
        rustix::net::send(&ours, b"TLYD", SendFlags::empty()).unwrap();
        let error = receive_descriptor(&theirs).unwrap_err().to_string();
        assert!(error.contains("another version"), "{error}");
    }
}
