//! Looks at what a call of the library changes, with a deadline: its file may be on a file system whose
//! server is dead, and its path in memory that is mapped from there.
//!
//! A process looks, and the supervisor waits for it a moment. A process that is late is killed and left
//! alone, and another one takes its place, a few times: a library cannot make the supervisor wait long. It
//! cannot be a thread: a process whose children are in another PID namespace cannot start any.

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::super::abi::close_all_but;
use super::changes::{Changed, Found};
use super::confine::{Call, Forked, fork};

/// How long the supervisor waits for an answer.
const PATIENCE: Duration = Duration::from_millis(100);
/// So many processes may be late with arguments, and as many with places. After that the supervisor does not
/// ask for them.
const MOST_LATE: usize = 4;
/// A question: thread, number, six arguments, and whether places are of interest.
const QUESTION: usize = 9 * 8;

/// What was found out about a call that changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It would write to the memory of another process.
    MemoryOfOther,
    /// Where the files are that it changes.
    Change(Found),
    /// Its arguments could not be read in time.
    NoArguments,
    /// Its files were not found in time.
    NoPlace,
}

/// Words of the process that looks. It says [`Word::Arguments`] or [`Word::Memory`] first, and after the
/// former where the files are, if that is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Arguments,
    Memory,
    Own,
    Outside,
    OfOther,
}

impl Word {
    const ALL: [Word; 5] = [Word::Arguments, Word::Memory, Word::Own, Word::Outside, Word::OfOther];

    fn of(found: Found) -> Word {
        match found {
            Found::Own => Word::Own,
            Found::Outside => Word::Outside,
            Found::OfOther => Word::OfOther,
        }
    }

    fn say(self, socket: &OwnedFd) -> io::Result<()> {
        let number = (0u8..).zip(Word::ALL).find(|(_, word)| *word == self).map_or(0, |(number, _)| number);
        send(socket, &[number], SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// A process that looks, and the socket to it. In a test it is a thread.
struct Partner {
    socket: OwnedFd,
    process: Option<Process>,
}

struct Process {
    pid: Pid,
    /// Can be read when it has ended.
    end: OwnedFd,
}

impl Process {
    /// Whether it has not ended, or was not waited for.
    fn is_there(&self) -> bool {
        matches!(rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None))
    }
}

/// Finds out what calls change.
pub(super) struct Looker {
    start: Box<dyn FnMut() -> io::Result<Partner>>,
    partner: Option<Partner>,
    /// Processes that were killed and may not have ended.
    given_up: Vec<Process>,
    late_arguments: usize,
    late_places: usize,
}

impl Looker {
    /// For a library that may change these files and folders. The process starts with the first call.
    pub(super) fn new(writable: Vec<PathBuf>) -> Looker {
        Looker::with(move || start(&writable))
    }

    fn with(start: impl FnMut() -> io::Result<Partner> + 'static) -> Looker {
        let start = Box::new(start);
        Looker { start, partner: None, given_up: Vec::new(), late_arguments: 0, late_places: 0 }
    }

    /// What a call changes; where its files are only if `has_interest`.
    pub(super) fn look(&mut self, call: &Call, has_interest: bool) -> Seen {
        if self.late_arguments >= MOST_LATE {
            return Seen::NoArguments;
        }
        let has_place = self.late_places < MOST_LATE;
        match self.ask(call, has_interest && has_place) {
            Some(Word::Memory) => return Seen::MemoryOfOther,
            Some(Word::Arguments) => {}
            _ => {
                self.late_arguments = self.late_arguments.saturating_add(1);
                self.give_up();
                return Seen::NoArguments;
            }
        }
        match (has_interest, has_place) {
            (false, _) => return Seen::Change(Found::Own),
            (true, false) => return Seen::NoPlace,
            (true, true) => {}
        }
        match self.partner.as_ref().and_then(|partner| hear(&partner.socket)) {
            Some(Word::Own) => Seen::Change(Found::Own),
            Some(Word::Outside) => Seen::Change(Found::Outside),
            Some(Word::OfOther) => Seen::Change(Found::OfOther),
            _ => {
                self.late_places = self.late_places.saturating_add(1);
                self.give_up();
                Seen::NoPlace
            }
        }
    }

    /// Asks a question, and returns the first word of the answer.
    fn ask(&mut self, call: &Call, has_interest: bool) -> Option<Word> {
        let partner = match self.partner.take() {
            Some(partner) => partner,
            None => (self.start)().ok()?,
        };
        let partner = self.partner.insert(partner);
        let question = question(call, has_interest)?;
        send(&partner.socket, &question, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).ok()?;
        hear(&partner.socket)
    }

    /// Ends the process; it may be in a system call that does not end.
    fn give_up(&mut self) {
        let Some(Partner { process: Some(process), .. }) = self.partner.take() else { return };
        let _ = rustix::process::kill_process(process.pid, Signal::KILL);
        self.given_up.push(process);
    }

    fn process(&self) -> Option<&Process> {
        self.partner.as_ref()?.process.as_ref()
    }

    /// What can be read when [`Looker::reap`] has something to do.
    pub(super) fn ends(&self) -> Vec<BorrowedFd<'_>> {
        self.process().into_iter().chain(&self.given_up).map(|process| process.end.as_fd()).collect()
    }

    /// Waits for processes that have ended. The first process of a PID namespace, in which they are, ends
    /// only after that.
    pub(super) fn reap(&mut self) {
        self.given_up.retain(Process::is_there);
        if self.process().is_some_and(|process| !process.is_there()) {
            self.partner = None;
        }
    }

    /// Ends all processes, so that only those of the library are left. Those that do not end within a moment
    /// are returned.
    pub(super) fn end(&mut self) -> Vec<Pid> {
        self.give_up();
        let begin = Instant::now();
        loop {
            self.reap();
            if self.given_up.is_empty() || begin.elapsed() > PATIENCE {
                return self.given_up.iter().map(|process| process.pid).collect();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Starts a process that looks.
fn start(writable: &[PathBuf]) -> io::Result<Partner> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    if let Forked::Parent(pid) = fork()? {
        let end = rustix::process::pidfd_open(pid, PidfdFlags::empty());
        if end.is_err() {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        }
        return Ok(Partner { socket: ours, process: Some(Process { pid, end: end? }) });
    }
    let end_with_parent = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // Nobody may wait for the end of a socket that this process has too.
    if end_with_parent.is_ok() && close_all_but(&[theirs.as_fd()]).is_ok() {
        let _ = answer(&theirs, Changed::by, |thread, changed| changed.find(thread, writable));
    }
    std::process::exit(0)
}

/// Answers until nobody asks any more.
fn answer(
    socket: &OwnedFd,
    arguments: impl Fn(&Call) -> Option<Changed>,
    place: impl Fn(u32, &Changed) -> Found,
) -> io::Result<()> {
    let mut bytes = [0u8; QUESTION];
    loop {
        let length = match recv(socket, &mut bytes[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let Some((call, has_interest)) = bytes.get(..length).and_then(parse) else { return Ok(()) };
        let changed = arguments(&call);
        if changed.as_ref().is_some_and(|changed| changed.is_memory_of_other(call.thread)) {
            Word::Memory.say(socket)?;
            continue;
        }
        Word::Arguments.say(socket)?;
        if has_interest {
            Word::of(changed.as_ref().map_or(Found::Own, |changed| place(call.thread, changed)))
                .say(socket)?;
        }
    }
}

/// The next word, if it comes in time.
fn hear(socket: &OwnedFd) -> Option<Word> {
    let deadline = Instant::now().checked_add(PATIENCE)?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok()?;
        match poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) => {
                let mut byte = [0u8; 1];
                let (length, _) = recv(socket, &mut byte[..], RecvFlags::DONTWAIT).ok()?;
                let [number] = byte;
                return Word::ALL.get(usize::from(number)).copied().filter(|_| length == 1);
            }
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

fn question(call: &Call, has_interest: bool) -> Option<Vec<u8>> {
    let number = u64::try_from(call.number?).ok()?;
    let words =
        [u64::from(call.thread), number].into_iter().chain(call.arguments).chain([has_interest.into()]);
    Some(words.flat_map(u64::to_le_bytes).collect())
}

fn parse(bytes: &[u8]) -> Option<(Call, bool)> {
    let (words, []) = bytes.as_chunks::<8>() else { return None };
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let [thread, number, arguments @ .., has_interest] = words.as_slice() else { return None };
    let (thread, number) = (u32::try_from(*thread).ok()?, c_long::try_from(*number).ok()?);
    Some((Call::of_thread(thread, number, arguments.try_into().ok()?), *has_interest == 1))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    fn call(path: &std::ffi::CStr) -> Call {
        let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        Call::of_thread(thread, libc::SYS_truncate, [path.as_ptr().addr() as u64, 0, 0, 0, 0, 0])
    }

    fn hang() -> ! {
        loop {
            std::thread::park();
        }
    }

    /// A looker whose partners are threads, and how many there were. A place in /dead is never found, the
    /// arguments of a call of no thread are never read.
    fn looker() -> (Looker, Rc<Cell<usize>>) {
        let started = Rc::new(Cell::new(0));
        let count = Rc::clone(&started);
        let start = move || {
            count.update(|count: usize| count.saturating_add(1));
            let (socket, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            std::thread::spawn(move || {
                let arguments = |call: &Call| if call.thread == 0 { hang() } else { Changed::by(call) };
                let place =
                    |_: u32, changed: &Changed| if changed.names(b"/dead") { hang() } else { Found::Outside };
                answer(&theirs, arguments, place)
            });
            Ok(Partner { socket, process: None })
        };
        (Looker::with(start), started)
    }

    #[test]
    fn a_dead_file_system_holds_up_a_few_processes_and_nothing_else() {
        let (mut looker, started) = looker();
        assert_eq!(looker.look(&call(c"/alive"), true), Seen::Change(Found::Outside));
        for _ in 0..MOST_LATE {
            assert_eq!(looker.look(&call(c"/dead"), true), Seen::NoPlace);
            assert_eq!(looker.look(&call(c"/alive"), false), Seen::Change(Found::Own));
        }
        // From now on nobody looks, so nobody waits; the memory of others is guarded as before.
        for _ in 0..100 {
            assert_eq!(looker.look(&call(c"/dead"), true), Seen::NoPlace);
        }
        assert_eq!(looker.look(&call(c"/proc/1/mem"), true), Seen::MemoryOfOther);
        assert_eq!(started.get(), MOST_LATE + 1);
        assert!(looker.end().is_empty());
    }

    #[test]
    fn memory_that_is_never_read_holds_up_a_few_processes_too() {
        let (mut looker, started) = looker();
        let stuck = Call::of_thread(0, libc::SYS_truncate, [0; 6]);
        for _ in 0..MOST_LATE + 100 {
            assert_eq!(looker.look(&stuck, true), Seen::NoArguments);
        }
        assert_eq!(looker.look(&call(c"/alive"), true), Seen::NoArguments);
        assert_eq!(started.get(), MOST_LATE);
    }

    #[test]
    fn a_process_that_has_ended_is_replaced() {
        let mut starts = 0;
        let start = move || {
            starts += 1;
            let (socket, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            if starts > 1 {
                std::thread::spawn(move || answer(&theirs, Changed::by, |_, _| Found::OfOther));
            }
            Ok(Partner { socket, process: None })
        };
        let mut looker = Looker::with(start);
        assert_eq!(looker.look(&call(c"/tmp"), true), Seen::NoArguments);
        assert_eq!(looker.look(&call(c"/tmp"), true), Seen::Change(Found::OfOther));
    }

    #[test]
    fn questions_and_words_go_round() {
        let asked = call(c"/tmp");
        for has_interest in [false, true] {
            let bytes = question(&asked, has_interest).unwrap();
            assert_eq!(bytes.len(), QUESTION);
            let (found, interest) = parse(&bytes).unwrap();
            assert_eq!(
                (found.thread, found.number, found.arguments),
                (asked.thread, asked.number, asked.arguments)
            );
            assert_eq!(interest, has_interest);
            assert!((0..QUESTION).all(|length| parse(&bytes[..length]).is_none()));
        }
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        for word in Word::ALL {
            word.say(&theirs).unwrap();
            assert_eq!(hear(&ours), Some(word));
        }
        send(&theirs, &[9], SendFlags::empty()).unwrap();
        assert_eq!(hear(&ours), None);
    }
}
