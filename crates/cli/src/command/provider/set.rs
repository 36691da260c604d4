//! `tally provider set`: shows and sets registry values that control how libraries are called.

use std::io::{self, Write};

use tallymon::core::title::TitleIndex;
use tallymon::registry::{
    Installed, PerflibSetting, Roots, Scope, Service, ServiceSetting, SettingText, Writer,
};

use crate::arguments::ProviderSet;
use crate::border;
use crate::exit::{Failure, Kind};
use crate::words;

/// Sets the given values. Without values, shows all settings with their current values.
pub(crate) fn run(roots: &Roots, scope: Option<Scope>, set: &ProviderSet) -> Result<(), Failure> {
    if set.values.is_empty() {
        return show(roots, set.service.as_deref());
    }
    // Parse all values before the first is set.
    match &set.service {
        Some(service) => {
            let (lists, numbers): (Vec<String>, Vec<String>) =
                set.values.iter().cloned().partition(|word| list_of(word).is_some());
            let values =
                parse(&numbers, ServiceSetting::of_name, &ServiceSetting::ALL.map(|one| one.text()))?;
            let lists: Vec<Vec<TitleIndex>> =
                lists.iter().filter_map(|word| list_of(word)).map(objects).collect::<Result<_, _>>()?;
            let writer = Writer::of_service(roots, scope, service)?;
            for list in lists {
                writer.set_object_list(service, &list)?;
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                words::say(format_args!("{OBJECT_LIST} of {service} is {:?}", list.join(" ")));
            }
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

/// Windows' name of the indexes of a service's objects.
const OBJECT_LIST: &str = "Object List";

/// The indexes in an argument `Object List=2 230`; `None` for another setting.
fn list_of(word: &str) -> Option<&str> {
    let (name, list) = word.split_once('=')?;
    name.trim().eq_ignore_ascii_case(OBJECT_LIST).then_some(list)
}

fn objects(list: &str) -> Result<Vec<TitleIndex>, Failure> {
    let index = |word: &str| {
        let wrong = |_| Failure::new(Kind::Usage, format_args!("{OBJECT_LIST}: {word:?} is not an index"));
        word.parse().map(TitleIndex).map_err(wrong)
    };
    list.split_whitespace().map(index).collect()
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
        Some(value) => words::say(format_args!("{} of {of} is {value}", text.name)),
        None => words::say(format_args!("{} of {of} is not set", text.name)),
    }
}

fn show(roots: &Roots, service: Option<&str>) -> Result<(), Failure> {
    let installed = Installed::read(roots)?;
    let mut out = border::stdout();
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
            let list: Vec<String> = service.object_list.iter().map(ToString::to_string).collect();
            let list = if list.is_empty() { "not set".to_string() } else { list.join(" ") };
            writeln!(out, "{OBJECT_LIST:28}  {list:>8}  indexes of its objects, with blanks between")?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, text: &SettingText, value: Option<u32>) -> io::Result<()> {
    let value = value.map_or("not set".to_string(), |value| value.to_string());
    writeln!(out, "{:28}  {value:>8}  {}", text.name, text.about)
}
