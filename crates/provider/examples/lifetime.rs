//! A publisher from its start to its end: instances come and go, and take the places of others.
//!
//! `lifetime DIRECTORY` publishes there once; `lifetime DIRECTORY TIMES` stays for as many instances. It has
//! one thread: the tests stop it before each of its system calls.

#[cfg(any(target_os = "linux", windows))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::path::Path;
    use std::time::Duration;

    use tallymon_provider::CounterType;
    use tallymon_provider::shm::{CounterSet, Instance, NewInstance, PublishError, Publisher};

    let mut words = std::env::args().skip(1);
    let directory = words.next().ok_or("lifetime DIRECTORY [TIMES]")?;
    let times: u32 = words.next().map_or(Ok(1), |times| times.parse())?;

    // Room for one instance is there at first; each time that it is full it doubles.
    let set =
        CounterSet::new("Life").instances_about(1).counter("Steps", CounterType::PERF_COUNTER_LARGE_RAWCOUNT);
    let publisher = Publisher::start_in(Path::new(&directory), "life", &[set])?;
    let born = |name| -> Result<Instance, PublishError> {
        let instance = publisher.instance("Life", &NewInstance { name, ..NewInstance::default() })?;
        instance.counter("Steps")?.add(7);
        Ok(instance)
    };
    let mut instances = vec![born("a")?, born("b")?, born("c")?];
    for _ in 0..times {
        instances.remove(0);
        // After a millisecond of rest the place of the one that left can be taken.
        std::thread::sleep(Duration::from_millis(2));
        instances.push(born("d")?);
    }
    Ok(())
}

#[cfg(not(any(target_os = "linux", windows)))]
fn main() {
    eprintln!("publishing needs Linux or Windows");
}
