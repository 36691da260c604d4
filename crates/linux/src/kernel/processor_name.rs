//! The name of the processors, for people.

use std::fs::File;
use std::io::Read;

use crate::kernel::proc::cpuinfo;

/// More than the lines of the first processor, whose name is that of all.
const MOST: u64 = 64 << 10;

/// The name of the processors in short, such as `AMD EPYC 7763`; `None` where the kernel has none.
pub fn processor_name() -> Option<String> {
    let mut bytes = Vec::new();
    File::open("/proc/cpuinfo").ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
    cpuinfo::name(&bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_machine_with_a_name_of_its_model_has_one() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        assert!(super::processor_name().is_some() || !text.contains("model name"));
    }
}
