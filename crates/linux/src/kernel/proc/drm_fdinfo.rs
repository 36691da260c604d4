//! `/proc/PID/fdinfo/N` of an open graphics device: what one client of a kernel graphics driver has used.
//!
//! The keys are those of the kernel's `Documentation/gpu/drm-usage-stats.rst`. Drivers leave out what they do
//! not know.

use std::collections::BTreeMap;

use super::scan::{decimal, split_at_byte};

/// What one client of a graphics device has used since it opened the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DrmClient {
    /// The address of the device, for example `0000:00:02.0`; empty where the driver does not report it.
    pub device: String,
    /// The number of the client; copied descriptors share it.
    pub client: u64,
    /// Nanoseconds that each engine has worked for the client, by the name of the engine.
    pub engines: BTreeMap<String, u64>,
    /// How many engines of a name there are, if more than one.
    pub capacities: BTreeMap<String, u64>,
    /// Bytes in each region of memory, by its name.
    pub regions: BTreeMap<String, Region>,
}

/// Bytes of one region of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region {
    /// All allocated bytes.
    pub total: u64,
    /// The bytes that are resident now.
    pub resident: u64,
}

impl DrmClient {
    /// Parses the text; `None` when the file is not of a graphics device. A malformed line is skipped.
    pub(crate) fn parse(bytes: &[u8]) -> Option<DrmClient> {
        let mut found = DrmClient::default();
        let mut is_drm = false;
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((key, value)) = split_at_byte(line, b':') else { continue };
            let Some(key) = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("drm-")) else {
                continue;
            };
            let value = value.trim_ascii();
            is_drm = true;
            if key == "pdev" {
                found.device = String::from_utf8_lossy(value).into_owned();
                continue;
            }
            let Some(number) = number(value) else { continue };
            if key == "client-id" {
                found.client = number;
            } else if let Some(engine) = key.strip_prefix("engine-capacity-") {
                found.capacities.insert(engine.to_string(), number);
            } else if let Some(engine) = key.strip_prefix("engine-") {
                found.engines.insert(engine.to_string(), number);
            } else if let Some(region) = key.strip_prefix("total-") {
                found.region(region).total = number;
            } else if let Some(region) = key.strip_prefix("resident-") {
                found.region(region).resident = number;
            } else if let Some(region) = key.strip_prefix("memory-") {
                // The older name of the resident bytes.
                let region = found.region(region);
                region.resident = region.resident.max(number);
                region.total = region.total.max(number);
            }
        }
        is_drm.then_some(found)
    }

    fn region(&mut self, name: &str) -> &mut Region {
        self.regions.entry(name.to_string()).or_default()
    }
}

/// A number with its unit: bytes, or nanoseconds.
fn number(value: &[u8]) -> Option<u64> {
    let (digits, unit) = split_at_byte(value, b' ').unwrap_or((value, b""));
    let factor = match unit.trim_ascii() {
        b"KiB" => 1 << 10,
        b"MiB" => 1 << 20,
        b"" | b"ns" => 1,
        _ => return None,
    };
    decimal(digits)?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_and_memory() {
        let text =
            b"pos:\t0\nflags:\t02100002\ndrm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t7\n\
            drm-engine-render:\t25662044495 ns\ndrm-engine-video:\t10 ns\ndrm-engine-capacity-video:\t2\n\
            drm-total-system0:\t18 MiB\ndrm-resident-system0:\t5 KiB\ndrm-memory-vram:\t3 KiB\n";
        let client = DrmClient::parse(text).unwrap();
        assert_eq!((client.device.as_str(), client.client), ("0000:00:02.0", 7));
        assert_eq!(client.engines["render"], 25_662_044_495);
        assert_eq!((client.engines["video"], client.capacities["video"]), (10, 2));
        assert_eq!(client.regions["system0"], Region { total: 18 << 20, resident: 5 << 10 });
        assert_eq!(client.regions["vram"], Region { total: 3 << 10, resident: 3 << 10 });
    }

    #[test]
    fn other_files_and_damaged_lines() {
        assert_eq!(DrmClient::parse(b"pos:\t0\nmnt_id:\t15\n"), None);
        assert_eq!(DrmClient::parse(b""), None);
        let text = b"drm-driver:\tx\ndrm-engine-a:\t-1 ns\ndrm-engine-b:\t1 \
            cycles\ndrm-total-c:\t99999999999999999999\n\
            drm-total-d:\t18446744073709551615 MiB\ndrm-\xff:\t1\ndrm-engine-e\n";
        assert_eq!(DrmClient::parse(text), Some(DrmClient::default()));
    }
}
