//! `tally provider set`: shows and sets registry values that control how libraries are called.

use std::io::{self, Write};

use tallymon::registry::{
    Installed, PerflibSetting, Roots, Scope, Service, ServiceSetting, SettingText, Writer,
};

use crate::arguments::ProviderSet;
use crate::exit::{Failure, Kind};

/// Sets the given values. Without values, shows all settings with their current values.
pub(crate) fn run(roots: &Roots, scope: Option<Scope>, set: &ProviderSet) -> Result<(), Failure> {
    if set.values.is_empty() {
        return show(roots, set.service.as_deref());
    }
    // Parse all values before the first is set.
    match &set.service {
        Some(service) => {
            let values =
                parse(&set.values, ServiceSetting::of_name, &ServiceSetting::ALL.map(|one| one.text()))?;
            let writer = Writer::of_service(roots, scope, service)?;
            for (setting, value) in values {
                writer.set(service, setting, value)?;
                say(&setting.text(), value, service);
            }
        }
        None => {
            let values =
                parse(&set.values, PerflibSetting::of_name, &PerflibSetting::ALL.map(|one| one.text()))?;
            let writer = Writer::open(roots, scope)?;
            for (setting, value) in values {
                writer.set_perflib(setting, value)?;
                say(&setting.text(), value, &format!("all in the {} registry", writer.scope().word()));
            }
        }
    }
    Ok(())
}

/// Parses arguments `NAME=NUMBER`. `NAME=` removes a value.
fn parse<S>(
    words: &[String],
    of_name: fn(&str) -> Option<S>,
    all: &[SettingText],
) -> Result<Vec<(S, Option<u32>)>, Failure> {
    let one = |word: &String| {
        let wrong = |words: String| Failure::new(Kind::Usage, words);
        let (name, value) =
            word.split_once('=').ok_or_else(|| wrong(format!("expected NAME=NUMBER, found {word:?}")))?;
        let setting = of_name(name.trim()).ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|text| text.name).collect();
            let near = tallymon::core::title::nearest(name.trim(), names.iter().copied(), 1);
            let near = near.first().map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            wrong(format!("expected one of {}, found {name:?}{near}", names.join(", ")))
        })?;
        let number = match value.trim() {
            "" => None,
            number => Some(
                number
                    .parse()
                    .map_err(|_| wrong(format!("expected a number after {name}=, found {number:?}")))?,
            ),
        };
        Ok((setting, number))
    };
    words.iter().map(one).collect()
}

fn say(text: &SettingText, value: Option<u32>, of: &str) {
    match value {
        Some(value) => eprintln!("tally: {} of {of} is {value}", text.name),
        None => eprintln!("tally: {} of {of} is not set", text.name),
    }
}

fn show(roots: &Roots, service: Option<&str>) -> Result<(), Failure> {
    let installed = Installed::read(roots)?;
    let mut out = io::stdout().lock();
    match service {
        None => {
            for setting in PerflibSetting::ALL {
                line(&mut out, &setting.text(), installed.perflib(setting))?;
            }
        }
        Some(name) => {
            let same = |(_, service): &(Scope, &Service)| service.name.eq_ignore_ascii_case(name);
            let Some((_, service)) = installed.services().find(same) else {
                let words = format!("no service {name:?} is registered; 'tally provider list' lists all");
                return Err(Failure::new(Kind::NotFound, words));
            };
            for setting in ServiceSetting::ALL {
                line(&mut out, &setting.text(), setting.get(service))?;
            }
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, text: &SettingText, value: Option<u32>) -> io::Result<()> {
    let value = value.map_or("not set".to_string(), |value| value.to_string());
    writeln!(out, "{:28}  {value:>8}  {}", text.name, text.about)
}
