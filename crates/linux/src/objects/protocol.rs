//! Common code of the network protocol objects: a single set of values, all counted by one kernel file.

use tallymon_provider::{
    Absence, CollectRequest, CounterBlockMut, CounterSpec, DetailLevel, Frequency, InstanceKind,
    ObjectLayout, ObjectSpec, ObjectsWriter, PerfTime,
};

use super::object::Object;
use super::spec::{Origin, object};
use crate::sources::Sources;

/// Sets all counters of an object from the kernel file, or returns why it cannot be read.
pub(super) type Fill = fn(&mut Sources, &mut CounterBlockMut<'_>) -> Result<(), Absence>;

/// A network protocol object, for the network namespace of this process.
pub(super) struct Protocol {
    layout: ObjectLayout<'static>,
    fill: Fill,
    origins: &'static [Origin],
}

impl Protocol {
    /// An object whose help index follows its name index, and whose first counter is the default one.
    pub(super) fn new(
        name: u32,
        counters: &'static [CounterSpec],
        origins: &'static [Origin],
        fill: Fill,
    ) -> Protocol {
        let help = name.saturating_add(1);
        let spec = object(name, help, DetailLevel::ADVANCED, 0, InstanceKind::None, counters);
        Protocol { layout: ObjectLayout::new(spec), fill, origins }
    }
}

impl Object for Protocol {
    fn spec(&self) -> &ObjectSpec<'static> {
        self.layout.spec()
    }

    fn origins(&self) -> &'static [Origin] {
        self.origins
    }

    fn collect(&mut self, _ask: &CollectRequest<'_>, sources: &mut Sources, out: &mut ObjectsWriter<'_>) {
        let mut object = out.object(&self.layout, PerfTime(0), Frequency(0));
        let mut values = object.single();
        if let Err(absence) = (self.fill)(sources, &mut values) {
            values.absent(0..self.layout.spec().counters.len(), absence);
        }
    }
}

/// The sum of two counts; `None` unless both exist.
pub(super) fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.zip(other).map(|(one, other)| one.wrapping_add(other))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::super::fake_machine_tests::{Machine, System, collect, instance, named};
    use super::*;
    use crate::kernel::proc::fixture::fixture;
    use tallymon_provider::{Interest, ValueState};

    const ALL: [u32; 8] = [546, 548, 582, 1534, 638, 1530, 658, 1532];

    #[test]
    fn a_machine_without_network_files_has_no_values() {
        let mut machine = Machine::new(&[]);
        for object in ALL {
            let snapshot = machine.read(object);
            let values = instance(&snapshot, "");
            let counters = values.object().counters().len() - 1;
            assert!(counters >= 5);
            let absence = if object == 1530 { Absence::NotOnThisSystem } else { Absence::NotInThisKernel };
            // The number of connections is the only counter of TCPv6 with a source, which is not a file.
            for position in (0..counters).filter(|position| object != 1530 || *position != 1) {
                assert_eq!(values.state(position), ValueState::Absent(absence), "{object} at {position}");
            }
        }
    }

    #[test]
    fn damaged_files_are_read_failures() {
        let files: [(&str, &[u8]); 2] =
            [("proc/net/snmp", b"Ip: InReceives\nIp: many\n"), ("proc/net/snmp6", b"Udp6NoPorts -1\n")];
        let mut machine = Machine::new(&files);
        for (object, counter) in [(546, 446), (658, 664), (548, 446), (1532, 664)] {
            let snapshot = machine.read(object);
            let expected = Err(ValueState::Absent(Absence::ReadFailed));
            assert_eq!(named(&instance(&snapshot, ""), counter), expected, "{object}");
        }
    }

    #[test]
    fn files_without_a_section_leave_its_counters_absent() {
        let mut machine = Machine::new(&[("proc/net/snmp", b"Ip: InReceives\nIp: 7\n")]);
        let snapshot = machine.read(546);
        assert_eq!(named(&instance(&snapshot, ""), 446), Ok(7));
        let missing = Err(ValueState::Absent(Absence::NotInThisKernel));
        assert_eq!(named(&instance(&snapshot, ""), 438), missing, "half a sum is no sum");
        assert_eq!(named(&instance(&machine.read(658), ""), 446), missing);
    }

    #[test]
    fn every_counter_of_the_current_kernel_has_a_value() {
        let [snmp, snmp6] = [fixture("6.18/net-snmp"), fixture("6.18/net-snmp6")];
        let mut machine = Machine::new(&[("proc/net/snmp", &snmp), ("proc/net/snmp6", &snmp6)]);
        for object in ALL.into_iter().filter(|object| *object != 1530) {
            let snapshot = machine.read(object);
            let values = instance(&snapshot, "");
            for position in 0..values.object().counters().len() - 1 {
                assert_eq!(values.state(position), ValueState::Present, "{object} at {position}");
            }
        }
    }

    /// Sends datagrams to itself and to a port without a listener, and finds them in the counts.
    #[test]
    fn datagrams_of_the_running_kernel_are_counted() {
        const DATAGRAMS: u64 = 50;
        let mut system = System::open().unwrap();
        let everything = Interest::everything();
        let read = |system: &mut System, object: u32, counter: u32| {
            named(&instance(&collect(system, object, &everything), ""), counter).unwrap()
        };
        let watched = [(658, 442), (658, 446), (658, 438), (658, 664), (546, 442), (546, 446), (582, 616)];
        let before = watched.map(|(object, counter)| read(&mut system, object, counter));
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let closing = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let closed = closing.local_addr().unwrap();
        // Closed only now, so that the sender cannot have got its port.
        drop(closing);
        let mut buffer = [0; 16];
        for _ in 0..DATAGRAMS {
            sender.send_to(b"tallymon", receiver.local_addr().unwrap()).unwrap();
            receiver.recv(&mut buffer).unwrap();
            sender.send_to(b"tallymon", closed).unwrap();
        }
        let after = watched.map(|(object, counter)| read(&mut system, object, counter));
        let rise = |at: usize| after[at].wrapping_sub(before[at]) & 0xffff_ffff;
        // Other programs may send too, so these are lower bounds, with an upper one that would reveal a wrong
        // unit.
        for (at, least) in [2, 1, 3, 1, 2, 2].into_iter().enumerate() {
            let least = least * DATAGRAMS;
            assert!((least..least + 100_000).contains(&rise(at)), "{:?}: {}", watched[at], rise(at));
        }
        // The kernel limits how many of these it sends, so only some are certain.
        assert!(rise(6) >= 1, "{before:?} {after:?}");
    }
}
