//! What happened in a program, compared with what the test had it do.

use std::sync::mpsc::channel;
use std::time::Duration;

use tallymon_dotnet::events;
use tallymon_dotnet::incidents::Incidents;
use tallymon_dotnet::port::{EventProvider, Session};

use crate::hosts::hosts;
use crate::port::Counted;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn incidents_are_those_that_the_test_caused() {
    for host in hosts() {
        let mut running = host.start();
        let keywords = events::GC | events::EXCEPTION | events::CONTENTION | events::THREADING;
        let runtime =
            EventProvider { name: events::RUNTIME.into(), keywords, level: 5, arguments: String::new() };
        let session = Session { providers: vec![runtime], method_names: true, buffer: 64 };
        let mut stream = running.program().start(&session, PATIENCE).unwrap();
        stream.set_patience(PATIENCE);
        let finish = stream.finisher();
        let (reading, amounts) = channel();
        let reader = std::thread::spawn(move || Incidents::read(Counted { stream, reading }));
        // The answer comes a moment before the events. The first block with events shows that they come.
        let mut read = 0;
        while read < 1000 {
            running.ask("throw 1");
            read += amounts.try_iter().sum::<usize>();
        }
        assert_eq!(running.ask("throw 25"), "ok");
        if !host.is_trimmed() {
            assert_eq!(running.ask("allocate 20000"), "ok");
            assert_eq!(running.ask("collect 2"), "ok");
            assert_eq!(running.ask("contend 3"), "ok");
        }
        finish.finish(PATIENCE).unwrap();
        let incidents = reader.join().unwrap().unwrap();
        let version = host.version;
        assert_eq!((incidents.damage.as_deref(), incidents.lost), (None, 0), ".NET {version}");
        let key = ("System.InvalidOperationException".to_string(), "Attach.Program.Throw".to_string());
        let Some((count, message)) = incidents.exceptions.get(&key) else {
            panic!(".NET {version}: {:?}", incidents.exceptions)
        };
        assert!(*count >= 26 && message == "on purpose", ".NET {version}: {:?}", incidents.exceptions);
        if host.is_trimmed() {
            continue;
        }
        let last = incidents.collections.last().unwrap();
        assert!(last.start.is_induced() && last.start.generation == 2, ".NET {version}: {last:?}");
        let heap = last.heap.unwrap();
        assert!(last.pause > 0 && last.duration.is_some() && heap.sizes.iter().sum::<u64>() > 0, "{last:?}");
        let (bytes, objects) = incidents.allocations["System.Byte[]"];
        // 20,000 objects of 1,024 bytes.
        assert!(bytes > 18_000_000 && objects > 100, ".NET {version}: {bytes} {objects}");
        let waits = incidents.waits["Attach.Program.Contend"];
        assert!(waits.count >= 3 && waits.longest <= waits.total, ".NET {version}: {waits:?}");
        // Each holder keeps the lock for 20 ms, of which the other waits the most.
        assert!(waits.longest > 1_000_000, ".NET {version}: {waits:?}");
    }
}
