//! Writes the trace format of Chrome, which Perfetto and `chrome://tracing` show.
//!
//! A thread with kept events is shown as it ran. For other threads, the places of the call tree are side by
//! side, each as wide as all its calls together, in a row that says so: the file does not have the times of
//! single calls.

use super::{json, thread_name};
use crate::reader::{EventKind, Profile, Step, Thread};
use std::io::{self, Write};

/// Writes a trace in Chrome's JSON format; times are in microseconds.
///
/// # Errors
///
/// Write errors of `out`.
pub fn chrome(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let pid = profile.pid;
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    write!(out, "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"tid\":0")?;
    write!(out, ",\"args\":{{\"name\":{}}}}}", json(&profile.command))?;
    for thread in &profile.threads {
        let kept = !thread.events.is_empty();
        let name = if kept {
            thread_name(thread)
        } else {
            format!("{} (calls added up, not in time)", thread_name(thread))
        };
        write!(out, ",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{}", thread.os_id)?;
        write!(out, ",\"args\":{{\"name\":{}}}}}", json(&name))?;
        if kept { time_line(profile, thread, out)? } else { added_up(profile, thread, out)? }
    }
    writeln!(out, "]}}")
}

/// The events of a thread, without calls that began before the oldest event: their start is unknown.
fn time_line(profile: &Profile, thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    let mut depth = 0u32;
    for event in &thread.events {
        let method = event.method.and_then(|method| profile.methods.get(method));
        let name = json(method.map_or("(unknown method)", |method| &method.name));
        let (pid, tid, at) = (profile.pid, thread.os_id, microseconds(event.at));
        let ids = format!("\"pid\":{pid},\"tid\":{tid},\"ts\":{at}");
        match event.kind {
            EventKind::Enter => {
                depth = depth.saturating_add(1);
                write!(out, ",\n{{\"ph\":\"B\",\"name\":{name},{ids}}}")?;
            }
            EventKind::Throw => {
                write!(
                    out,
                    ",\n{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"exception\",\"args\":{{\"in\":{name}}},{ids}}}"
                )?;
            }
            EventKind::Leave | EventKind::Tail | EventKind::Unwind | EventKind::Drop => {
                if depth == 0 {
                    continue;
                }
                depth = depth.saturating_sub(1);
                let how = match event.kind {
                    EventKind::Tail => ",\"args\":{\"ended\":\"by tail call\"}",
                    EventKind::Unwind => ",\"args\":{\"ended\":\"unwound\"}",
                    EventKind::Drop => ",\"args\":{\"ended\":\"unseen\"}",
                    _ => "",
                };
                write!(out, ",\n{{\"ph\":\"E\",\"name\":{name},{ids}{how}}}")?;
            }
        }
    }
    // Calls that are still open last until the end of the profile.
    for _ in 0..depth {
        let (pid, tid, at) = (profile.pid, thread.os_id, microseconds(profile.duration));
        write!(out, ",\n{{\"ph\":\"E\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}}}")?;
    }
    Ok(())
}

fn added_up(profile: &Profile, thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    // Where the next callee of each open call begins.
    let mut starts: Vec<u64> = vec![thread.first];
    let mut result = Ok(());
    profile.walk(thread.root, |call, step| {
        if call.parent.is_none() || result.is_err() {
            return;
        }
        if step == Step::Up {
            starts.pop();
            return;
        }
        let at = starts.last().copied().unwrap_or_default();
        if let Some(next) = starts.last_mut() {
            *next = next.saturating_add(call.total);
        }
        starts.push(at);
        let (name, from, width) = (json(profile.name(call)), microseconds(at), microseconds(call.total));
        result = write!(
            out,
            ",\n{{\"ph\":\"X\",\"name\":{name},\"pid\":{},\"tid\":{},\"ts\":{from},\"dur\":{width},\"args\":{{\"calls\":{},\"self ns\":{}}}}}",
            profile.pid, thread.os_id, call.enters, call.own
        );
    });
    result
}

/// Nanoseconds as microseconds with three decimals.
fn microseconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000)
}
