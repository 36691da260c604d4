//! `tally dump`: prints every field of a data block, from a query or from a file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tallymon::core::block::{
    ByteOrder, CounterBlock, CounterDefinition, DataBlock, NumInstances, Object, RawValue,
};
use tallymon::core::request::{Request, RequestKind};
use tallymon::core::title::{HelpIndex, Language, TitleIndex};
use tallymon::{Location, Names, open, other_machine};

use crate::arguments::{Common, Dump};
use crate::border;
use crate::exit::{Failure, Kind};
use crate::hosts;
use crate::output::save;
use crate::paths;
use crate::words::visible;

pub(crate) fn run(common: &Common, dump: &Dump) -> Result<(), Failure> {
    let path = Path::new(&dump.what);
    let is_file = path.is_file();
    // A file of a share begins as a host does.
    let has_host = !is_file && dump.what.starts_with(r"\\");
    let (host, what) = if has_host { hosts::split(&dump.what) } else { (None, dump.what.as_str()) };
    let location = match host {
        None => paths::location(common)?,
        Some(host) => {
            let location = paths::location_of(common, std::slice::from_ref(&dump.what))?;
            if !matches!(location, Location::Remote { .. }) {
                // A name that nobody knows is not this machine.
                other_machine(host)?;
            }
            location
        }
    };
    let mut source = open(&location)?;
    let request = Request::parse(what);
    if let RequestKind::Names(language) | RequestKind::Help(language) = &request.kind
        && !is_file
    {
        let titles = source.titles(language.unwrap_or(Language::ENGLISH))?;
        let help = matches!(request.kind, RequestKind::Help(_));
        let mut out = border::stdout();
        if let Some(file) = &dump.raw {
            let order = ByteOrder::Little;
            let bytes = if help { titles.to_multi_sz_helps(order) } else { titles.to_multi_sz_names(order) };
            return save(file, dump.replacing, &bytes);
        }
        if help {
            for (HelpIndex(index), text) in titles.helps() {
                writeln!(out, "{index}\t{}", visible(text))?;
            }
        } else {
            for (TitleIndex(index), text) in titles.names() {
                writeln!(out, "{index}\t{}", visible(text))?;
            }
        }
        return Ok(());
    }
    let bytes = if is_file {
        fs::read(path).map_err(|error| Failure::file(path, &error))?
    } else {
        if let RequestKind::Unknown(word) = &request.kind {
            let words = format!(
                "{word:?} is neither a query (Global, Costly, numbers, Counter 009, Help 009) nor a file"
            );
            return Err(Failure::new(Kind::Usage, words));
        }
        source.snapshot(&request)?.into_bytes()
    };
    if let Some(file) = &dump.raw {
        return save(file, dump.replacing, &bytes);
    }
    let names = match common.file {
        // Objects of a saved block have NT's own names.
        Some(_) => Names::load(source.as_mut(), paths::locale(common)?),
        // Another machine may have numbers of its own.
        None if !common.host.is_empty() => Names::load(source.as_mut(), paths::locale(common)?),
        None => Names::load(open(&Location::Local).unwrap_or(source).as_mut(), paths::locale(common)?),
    }?;
    let damaged = |error| {
        let what = if is_file { dump.what.as_str() } else { "the answer" };
        Failure::new(Kind::BadFile, format_args!("{what}: not a valid data block: {error}"))
    };
    let block = DataBlock::parse(&bytes).map_err(damaged)?;
    let mut printer = Printer { out: border::stdout(), names: &names };
    printer.header(&block)?;
    // Print everything before the damage, then report the damage.
    for object in block.objects() {
        printer.object(&object.map_err(damaged)?).map_err(|stop| match stop {
            Stop::Write(error) => Failure::from(error),
            Stop::Damaged(error) => damaged(error),
        })?;
    }
    Ok(())
}

/// Why printing an object stopped.
enum Stop {
    Write(io::Error),
    Damaged(tallymon::core::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Write(error)
    }
}

impl From<tallymon::core::Error> for Stop {
    fn from(error: tallymon::core::Error) -> Stop {
        Stop::Damaged(error)
    }
}

struct Printer<'n, W> {
    out: W,
    names: &'n Names,
}

impl<W: Write> Printer<'_, W> {
    fn name(&self, index: TitleIndex) -> String {
        visible(&self.names.name(index)).into_owned()
    }

    fn header(&mut self, block: &DataBlock<'_>) -> io::Result<()> {
        let header = block.header();
        writeln!(self.out, "PERF_DATA_BLOCK at 0")?;
        writeln!(self.out, "  LittleEndian      {:?}", header.byte_order)?;
        writeln!(self.out, "  Version           {}.{}", header.version, header.revision)?;
        writeln!(self.out, "  TotalByteLength   {}", header.total_byte_length)?;
        writeln!(self.out, "  HeaderLength      {}", header.header_length)?;
        writeln!(self.out, "  NumObjectTypes    {}", header.num_object_types)?;
        writeln!(self.out, "  DefaultObject     {}", header.default_object)?;
        writeln!(self.out, "  SystemTime        {}", header.system_time)?;
        writeln!(self.out, "  PerfTime          {}", header.perf_time.0)?;
        writeln!(self.out, "  PerfFreq          {}", header.perf_freq.0)?;
        let time = header.perf_time_100ns;
        writeln!(self.out, "  PerfTime100nSec   {} ({} UTC)", time.0, time.system_time())?;
        match block.system_name() {
            Ok(name) => writeln!(self.out, "  SystemName        {}", visible(&name.to_string_lossy())),
            Err(error) => writeln!(self.out, "  SystemName        damaged: {error}"),
        }
    }

    fn object(&mut self, object: &Object<'_>) -> Result<(), Stop> {
        let header = object.header();
        let name = self.name(header.name);
        writeln!(self.out, "\nPERF_OBJECT_TYPE at {}: {name}", object.at())?;
        writeln!(self.out, "  TotalByteLength   {}", header.total_byte_length)?;
        writeln!(self.out, "  DefinitionLength  {}", header.definition_length)?;
        writeln!(self.out, "  HeaderLength      {}", header.header_length)?;
        writeln!(self.out, "  ObjectName        {}", header.name.0)?;
        writeln!(self.out, "  ObjectHelp        {}", header.help.0)?;
        writeln!(self.out, "  DetailLevel       {} ({})", header.detail_level.0, header.detail_level.name())?;
        writeln!(self.out, "  NumCounters       {}", header.num_counters)?;
        writeln!(self.out, "  DefaultCounter    {}", header.default_counter)?;
        writeln!(self.out, "  NumInstances      {}", header.num_instances.to_raw())?;
        writeln!(self.out, "  CodePage          {}", header.code_page.0)?;
        writeln!(self.out, "  PerfTime          {}", header.perf_time.0)?;
        writeln!(self.out, "  PerfFreq          {}", header.perf_freq.0)?;
        writeln!(self.out, "  offset size scale level  index  help   type and name")?;
        let mut counters: Vec<CounterDefinition> = Vec::new();
        for counter in object.counters() {
            let counter = counter?;
            let title = if counter.name.0 == 0 { String::new() } else { self.name(counter.name) };
            writeln!(
                self.out,
                "  {:>6} {:>4} {:>5} {:>5} {:>6} {:>5}   {} {title}",
                counter.counter_offset,
                counter.counter_size,
                counter.default_scale,
                counter.detail_level.0,
                counter.name.0,
                counter.help.0,
                counter.counter_type,
            )?;
            counters.push(counter);
        }
        match header.num_instances {
            NumInstances::None => {
                if let Some(block) = object.counter_block() {
                    self.values(&block?, &counters)?;
                }
            }
            NumInstances::Many(_) => {
                for instance in object.instances() {
                    let instance = instance?;
                    write!(self.out, "  instance at {}: {:?}", instance.at, instance.name.to_string_lossy())?;
                    if let Some(id) = instance.unique_id {
                        write!(self.out, ", unique id {id}")?;
                    }
                    if let Some(parent) = instance.parent {
                        let parent_name = self.name(parent.object);
                        write!(self.out, ", parent {parent_name} at position {}", parent.instance)?;
                    }
                    writeln!(self.out)?;
                    self.values(&instance.counter_block, &counters)?;
                }
            }
            NumInstances::MetadataMany | NumInstances::MetadataNone => {}
        }
        Ok(())
    }

    fn values(&mut self, block: &CounterBlock<'_>, counters: &[CounterDefinition]) -> io::Result<()> {
        writeln!(self.out, "    PERF_COUNTER_BLOCK at {}, ByteLength {}", block.at(), block.bytes().len())?;
        for counter in counters {
            let title =
                if counter.name.0 == 0 { counter.counter_type.to_string() } else { self.name(counter.name) };
            let base = if counter.counter_type.is_base() { " (base)" } else { "" };
            match block.raw(counter) {
                Ok(RawValue::Number(number)) => writeln!(self.out, "      {number:>20}  {title}{base}")?,
                Ok(RawValue::Nothing) => writeln!(self.out, "      {:>20}  {title}{base}", "")?,
                Ok(RawValue::Bytes(bytes)) => {
                    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                    writeln!(self.out, "      {}  {title}", hex.join(" "))?;
                }
                Err(error) => writeln!(self.out, "      {:>20}  {title}: {error}", "outside")?,
            }
        }
        Ok(())
    }
}
