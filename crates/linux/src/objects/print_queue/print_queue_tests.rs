//! The answers of a print server, its failures, and a real server started by the test.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::Instant;

use tallymon_provider::{Interest, TitleIndex};

use super::super::fake_machine_tests::{Machine, instance, named, names};
use super::*;
use crate::kernel::cups::ipp::{Question, decode};
use crate::kernel::cups::print_server::{Job, Printer, job, plain, printer, text};
use crate::kernel::proc::fixture::fixture;

thread_local! {
    /// How long a request of this test waits for an answer: an answer that comes is waited for.
    static PATIENCE: std::cell::Cell<Duration> = const { std::cell::Cell::new(DEADLINE) };
}

pub(super) fn patience() -> Duration {
    PATIENCE.get()
}

const JOB: &str = "ipp://localhost/printers/Lab%20%281%29";

fn job_of(number: i32, state: i32, reason: &str) -> Job {
    let question = Question::new(0)
        .number("job-id", number)
        .number("job-state", state)
        .words("job-state-reasons", &["none", reason])
        .uri("job-printer-uri", JOB)
        .number("job-k-octets", 3)
        .number("job-media-sheets-completed", 2)
        .finish();
    job(&decode(&question).unwrap().groups[0]).unwrap()
}

fn printer_of(jobs: i32, reasons: &[&str]) -> Printer {
    let question = Question::new(0)
        .words("printer-name", &["Lab (1)"])
        .number("queued-job-count", jobs)
        .words("printer-state-reasons", reasons)
        .finish();
    printer(&decode(&question).unwrap().groups[0]).unwrap()
}

/// The values that CUPS has, in the order of the counters.
fn counted(queue: &PrintQueue) -> Vec<u64> {
    queue.queues["Lab (1)"].values().into_iter().filter_map(|(_, value)| value).collect()
}

#[test]
fn jobs_count_once_when_they_end() {
    let mut queue = PrintQueue::new();
    let mut look = |reasons: &[&str], jobs: &[Job]| {
        let printers = vec![printer_of(1, reasons)];
        queue.count(Answer { printers, jobs: Some(jobs.to_vec()) });
        (counted(&queue), queue.first)
    };
    let printed = job_of(1, 9, "job-completed-successfully");
    let held = job_of(2, 4, "job-hold-until-specified");
    let comes = job_of(3, 4, "job-incoming");
    let aborted = job_of(4, 8, "aborted-by-system");
    let canceled = job_of(5, 7, "job-canceled-by-user");
    // Printed, bytes, sheets, jobs, spooling, most spooling, out of paper, not ready, errors.
    let first = look(&["none"], &[printed.clone(), held.clone(), comes.clone()]);
    assert_eq!(first, (vec![1, 3072, 2, 1, 1, 1, 0, 0, 0], 2));
    let second = look(
        &["media-empty-error", "offline-report"],
        &[held.clone(), job_of(3, 9, "none"), aborted.clone(), canceled],
    );
    assert_eq!(second, (vec![2, 6144, 4, 1, 0, 1, 1, 1, 1], 2));
    // A held job does not make later ones count again, and a lasting state is one error.
    let third = look(&["media-empty", "timed-out"], &[held, job_of(3, 9, "none"), aborted]);
    assert_eq!(third, (vec![2, 6144, 4, 1, 0, 1, 1, 1, 1], 2));
    let fourth = look(&["paused"], &[job_of(2, 9, "none"), job_of(3, 9, "none"), job_of(5, 7, "none")]);
    assert_eq!(fourth, (vec![3, 9216, 6, 1, 0, 1, 1, 1, 1], 6));
    assert_eq!(look(&["media-needed-warning"], &[]), (vec![3, 9216, 6, 1, 0, 1, 2, 1, 1], 6));
    assert!(queue.ended.is_empty());
    queue.count(Answer::default());
    assert!(queue.queues.is_empty(), "a queue that is gone");
}

#[test]
fn addresses_in_plain_characters() {
    for (part, expected) in [("a%20b", "a b"), ("%41%", "A%"), ("%zz%4", "%zz%4"), ("%C3%A4", "ä"), ("", "")]
    {
        assert_eq!(text(&plain(part.as_bytes())), expected);
    }
}

/// Answers each request with the next of these bodies, then with the last one; `None` is silence.
fn serve(folder: &Path, bodies: Vec<Option<Vec<u8>>>) {
    std::fs::create_dir_all(folder.join("run/cups")).unwrap();
    let listener = UnixListener::bind(folder.join("run/cups/cups.sock")).unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut question = [0; 2000];
            assert!(stream.read(&mut question).unwrap() > 100);
            match &bodies[number.min(bodies.len() - 1)] {
                Some(body) => {
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
                }
                None => silent.push(stream),
            }
        }
    });
}

#[test]
fn captured_cups_answers() {
    let mut machine = Machine::new(&[]);
    let missing = |absence| Err(ValueState::Absent(absence));
    let snapshot = machine.read(1450);
    assert_eq!(names(&snapshot), ["_Total"]);
    assert_eq!(named(&instance(&snapshot, "_Total"), 1458), missing(Absence::NotOnThisSystem));
    serve(&machine.folder, vec![Some(fixture("cups-2.4/printers")), Some(fixture("cups-2.4/jobs"))]);
    let snapshot = machine.read(1450);
    assert_eq!(names(&snapshot), ["Broken", "Paper", "_Total"]);
    for (name, expected) in [("Broken", [0, 1, 1024]), ("Paper", [1, 1, 1024]), ("_Total", [1, 2, 2048])] {
        let queue = instance(&snapshot, name);
        assert_eq!([1458, 1452, 1454].map(|counter| named(&queue, counter)), expected.map(Ok), "{name}");
        assert_eq!(named(&queue, 1460), missing(Absence::NotOnThisSystem));
    }
}

#[test]
fn a_server_without_queues_and_malformed_answers() {
    let none = b"\x02\x00\x04\x06\x00\x00\x00\x01\x01\x03".to_vec();
    let mut machine = Machine::new(&[]);
    serve(&machine.folder, vec![Some(none), Some(fixture("cups-2.4/jobs")), Some(b"\x02".to_vec())]);
    let snapshot = machine.read(1450);
    assert_eq!(names(&snapshot), ["_Total"]);
    assert_eq!(named(&instance(&snapshot, "_Total"), 1458), Ok(0));
    let snapshot = machine.read(1450);
    let failed = Err(ValueState::Absent(Absence::ReadFailed));
    assert_eq!(named(&instance(&snapshot, "_Total"), 1458), failed);
}

/// A hanging server delays one request for the patience, later ones not at all, and leaves the last values.
#[test]
fn a_hanging_server_is_waited_for_once() {
    let mut machine = Machine::new(&[]);
    let printers = Some(fixture("cups-2.4/printers"));
    serve(&machine.folder, vec![printers, Some(fixture("cups-2.4/jobs")), None]);
    let fresh = machine.read(1450);
    assert_eq!(named(&instance(&fresh, "Paper"), 1458), Ok(1));
    PATIENCE.set(Duration::from_millis(100));
    // Who waited for the server would not be here before its deadline.
    let start = Instant::now();
    for _ in 0..5 {
        let stale = machine.read(1450);
        assert_eq!(named(&instance(&stale, "Paper"), 1458), Err(ValueState::Stale));
    }
    assert!(start.elapsed() < DEADLINE / 2, "{:?}", start.elapsed());
}

/// Only the queries that the requested counters need.
#[test]
fn counting_jobs_requests_no_job_list() {
    let mut machine = Machine::new(&[]);
    serve(&machine.folder, vec![Some(fixture("cups-2.4/printers"))]);
    let mut interest = Interest::everything();
    interest.add(TitleIndex(1450), TitleIndex(1458));
    let snapshot = machine.read_only(1450, &interest);
    let queue = instance(&snapshot, "Paper");
    assert_eq!(named(&queue, 1458), Ok(1));
    assert_eq!(named(&queue, 1452), Err(ValueState::Absent(Absence::NotRequested)));
}

/// A print server that ends with this value.
struct Server {
    process: Child,
    socket: String,
}

impl Server {
    fn start(folder: &Path) -> Option<Server> {
        let program = tallymon_testkit::peer("cupsd")?;
        tallymon_testkit::peer("lpadmin")?;
        let run = folder.join("run/cups");
        for name in ["etc", "spool/tmp", "cache", "state", "run/cups"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let at = |name: &str| folder.join(name).display().to_string();
        let files = format!(
            "ServerRoot {}\nRequestRoot {}\nTempDir {}\nCacheDir {}\nStateDir {}\nAccessLog {}\nErrorLog \
                {}\nPageLog {}\nFileDevice Yes\nSystemGroup root\n",
            at("etc"),
            at("spool"),
            at("spool/tmp"),
            at("cache"),
            at("state"),
            at("access"),
            at("error"),
            at("page")
        );
        let socket = run.join("cups.sock").display().to_string();
        let everybody = "Order deny,allow";
        let rules = format!(
            "Listen {socket}\nBrowsing No\n<Location />\n{everybody}\n</Location>\n<Policy \
                default>\n<Limit All>\n{everybody}\n</Limit>\n</Policy>\n"
        );
        std::fs::write(folder.join("files.conf"), files).unwrap();
        std::fs::write(folder.join("cupsd.conf"), rules).unwrap();
        let process = Command::new(program)
            .args(["-f", "-c", &at("cupsd.conf"), "-s", &at("files.conf")])
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut server = Server { process, socket };
        for _ in 0..1200 {
            if Path::new(&server.socket).exists() {
                return Some(server);
            }
            if server.process.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        tallymon_testkit::skip("no print server of its own runs here");
        None
    }

    fn run(&self, program: &str, words: &[&str], text: &str) -> Output {
        let mut child = Command::new(program)
            .args(words)
            .env("CUPS_SERVER", &self.socket)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Compares printed, held, canceled and waiting jobs with CUPS itself.
#[test]
fn a_print_server_started_by_the_test() {
    let mut machine = Machine::new(&[]);
    let Some(server) = Server::start(&machine.folder) else { return };
    let total = |machine: &mut Machine, counters: [u32; 4]| {
        let snapshot = machine.read(1450);
        counters.map(|counter| named(&instance(&snapshot, "_Total"), counter))
    };
    // Printed, bytes, jobs, errors.
    const ALL: [u32; 4] = [1452, 1454, 1458, 1472];
    assert_eq!(total(&mut machine, ALL), [Ok(0); 4], "without queues");
    for name in ["Paper", "Lab_2"] {
        server.run("lpadmin", &["-p", name, "-E", "-v", "file:///dev/null"], "");
    }
    server.run("lp", &["-d", "Paper", "-"], &"x".repeat(5000));
    server.run("lp", &["-d", "Paper", "-H", "hold", "-"], "later");
    server.run("lp", &["-d", "Lab_2", "-"], "y");
    // Printing takes a moment.
    for _ in 0..1200 {
        if total(&mut machine, ALL)[0] == Ok(2) {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let snapshot = machine.read(1450);
    assert_eq!(names(&snapshot), ["Lab_2", "Paper", "_Total"]);
    for (name, expected) in
        [("Lab_2", [1, 1024, 0, 0]), ("Paper", [1, 5120, 1, 0]), ("_Total", [2, 6144, 1, 0])]
    {
        let queue = instance(&snapshot, name);
        assert_eq!(ALL.map(|counter| named(&queue, counter)), expected.map(Ok), "{name}");
    }
    let listed = server.run("lpstat", &["-W", "completed"], "").stdout;
    assert_eq!(String::from_utf8(listed).unwrap().lines().count(), 2, "CUPS itself says so");
    server.run("cancel", &["Paper-2"], "");
    server.run("lpadmin", &["-x", "Lab_2"], "");
    assert_eq!(
        total(&mut machine, ALL),
        [Ok(1), Ok(5120), Ok(0), Ok(0)],
        "canceled, and a queue that is gone"
    );
}
