//! Parts of the chart that the user can switch off, as in the properties of Performance Monitor.

/// A part of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// The legend below the chart.
    Legend,
    /// Last, average, minimum, maximum and duration of the chosen line.
    ValueBar,
    /// The numbers of the vertical axis.
    ScaleLabels,
    /// The times below the chart.
    TimeLabels,
    /// Digits of large numbers in groups of three.
    DigitGrouping,
    /// A box beside the mouse that describes what it points at.
    ToolTips,
}

impl Switch {
    /// All parts with their names in settings, in the order of their keys.
    pub const NAMES: [(&'static str, Switch); 6] = [
        ("legend", Switch::Legend),
        ("value_bar", Switch::ValueBar),
        ("scale_labels", Switch::ScaleLabels),
        ("time_labels", Switch::TimeLabels),
        ("digit_grouping", Switch::DigitGrouping),
        ("tool_tips", Switch::ToolTips),
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which parts are switched off; at first none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    off: u8,
}

impl Switches {
    /// Whether a part is shown.
    pub const fn has(self, switch: Switch) -> bool {
        self.off & switch.bit() == 0
    }

    /// Switches a part on or off.
    pub const fn set(&mut self, switch: Switch, on: bool) {
        if on {
            self.off &= !switch.bit();
        } else {
            self.off |= switch.bit();
        }
    }

    /// Toggles a part.
    pub const fn toggle(&mut self, switch: Switch) {
        self.off ^= switch.bit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_switched_by_itself() {
        for (_, switch) in Switch::NAMES {
            let mut switches = Switches::default();
            switches.toggle(switch);
            let off: Vec<_> = Switch::NAMES.iter().filter(|(_, known)| !switches.has(*known)).collect();
            assert!(matches!(off[..], [(_, only)] if *only == switch), "{off:?}");
            switches.set(switch, false);
            assert!(!switches.has(switch));
            switches.set(switch, true);
            assert_eq!(switches, Switches::default());
        }
    }
}
