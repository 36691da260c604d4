//! The functions of pdh.h.

use super::{both, statuses};
use crate::dialog::{self, Config};
use crate::handles::Handle;
use crate::logs::{self, TimeInfo};
use crate::memory::{Buf, Out, Str};
use crate::paths::{self, GivenElements};
use crate::values::{self, FmtStatistics, FmtValue, Named, RawCounter};
use crate::{log_sets, names, query, recordings, source_dialog};

statuses! {
    PdhGetDllVersion = query::version, (version: Out<u32>);
    PdhOpenQueryH = query::open, (source: Handle, user_data: usize, query: Out<Handle>);
    PdhCloseQuery = query::close, (query: Handle);
    PdhRemoveCounter = query::remove, (counter: Handle);
    PdhCollectQueryData = query::collect, (query: Handle);
    PdhCollectQueryDataWithTime = query::collect_with_time, (query: Handle, time: Out<i64>);
    PdhCollectQueryDataEx = query::collect_on_timer, (query: Handle, seconds: u32, event: Handle);
    PdhSetQueryTimeRange = query::set_range, (query: Handle, info: Out<TimeInfo>);
    PdhSetDefaultRealTimeDataSource = logs::set_default, (source: u32);
    PdhGetFormattedCounterValue = values::formatted,
        (counter: Handle, format: u32, kind: Out<u32>, value: Out<FmtValue>);
    PdhGetRawCounterValue = values::raw, (counter: Handle, kind: Out<u32>, value: Out<RawCounter>);
    PdhCalculateCounterFromRawValue = values::calculate,
        (counter: Handle, format: u32, newer: Out<RawCounter>, older: Out<RawCounter>, value: Out<FmtValue>);
    PdhFormatFromRawValue = values::format_raw,
        (kind: u32, format: u32, time_base: Out<i64>, newer: Out<RawCounter>, older: Out<RawCounter>,
         value: Out<FmtValue>);
    PdhComputeCounterStatistics = values::statistics,
        (counter: Handle, format: u32, first: u32, entries: u32, values: Buf<RawCounter>,
         data: Out<FmtStatistics>);
    PdhSetCounterScaleFactor = values::set_scale, (counter: Handle, factor: i32);
    PdhGetCounterTimeBase = values::time_base, (counter: Handle, base: Out<i64>);
    PdhCloseLog = recordings::close, (log: Handle, flags: u32);
    PdhGetDataSourceTimeRangeH = logs::time_range,
        (source: Handle, entries: Out<u32>, info: Buf<TimeInfo>, bytes: Out<u32>);
    PdhUpdateLogFileCatalog = recordings::update_catalog, (log: Handle);
    PdhGetLogFileSize = recordings::size, (log: Handle, size: Out<i64>);
    PdhReadRawLogRecord = logs::raw_record, (log: Handle, time: u64, record: Buf<u8>, bytes: Out<u32>);
    PdhGetLogSetGUID = recordings::log_set::guid, (log: Handle, guid: Out<[u8; 16]>, run: Out<i32>);
    PdhSetLogSetRunID = recordings::log_set::set_run, (log: Handle, run: i32);
}

both! { statuses, L,
    PdhOpenQueryA PdhOpenQueryW = query::open, (source: Str<L>, user_data: usize, query: Out<Handle>);
    PdhAddCounterA PdhAddCounterW = query::add_local,
        (query: Handle, path: Str<L>, user_data: usize, counter: Out<Handle>);
    PdhAddEnglishCounterA PdhAddEnglishCounterW = query::add_english,
        (query: Handle, path: Str<L>, user_data: usize, counter: Out<Handle>);
    PdhGetFormattedCounterArrayA PdhGetFormattedCounterArrayW = values::formatted_array,
        (counter: Handle, format: u32, bytes: Out<u32>, count: Out<u32>, buffer: Buf<Named<L, FmtValue>>);
    PdhGetRawCounterArrayA PdhGetRawCounterArrayW = values::raw_array,
        (counter: Handle, bytes: Out<u32>, count: Out<u32>, buffer: Buf<Named<L, RawCounter>>);
    PdhGetCounterInfoA PdhGetCounterInfoW = paths::info::<L>,
        (counter: Handle, explain: u8, bytes: Out<u32>, buffer: Buf<u8>);
    PdhConnectMachineA PdhConnectMachineW = names::connect, (machine: Str<L>);
    PdhEnumMachinesA PdhEnumMachinesW = names::machines, (source: Str<L>, list: Buf<L>, size: Out<u32>);
    PdhEnumMachinesHA PdhEnumMachinesHW = names::machines, (source: Handle, list: Buf<L>, size: Out<u32>);
    PdhEnumObjectsA PdhEnumObjectsW = names::objects,
        (source: Str<L>, machine: Str<L>, list: Buf<L>, size: Out<u32>, detail: u32, refresh: i32);
    PdhEnumObjectsHA PdhEnumObjectsHW = names::objects,
        (source: Handle, machine: Str<L>, list: Buf<L>, size: Out<u32>, detail: u32, refresh: i32);
    PdhEnumObjectItemsA PdhEnumObjectItemsW = names::items,
        (source: Str<L>, machine: Str<L>, object: Str<L>, counters: Buf<L>, counters_size: Out<u32>,
         instances: Buf<L>,
         instances_size: Out<u32>, detail: u32, flags: u32);
    PdhEnumObjectItemsHA PdhEnumObjectItemsHW = names::items,
        (source: Handle, machine: Str<L>, object: Str<L>, counters: Buf<L>, counters_size: Out<u32>,
         instances: Buf<L>,
         instances_size: Out<u32>, detail: u32, flags: u32);
    PdhMakeCounterPathA PdhMakeCounterPathW = paths::make,
        (elements: Out<GivenElements<L>>, path: Buf<L>, size: Out<u32>, flags: u32);
    PdhParseCounterPathA PdhParseCounterPathW = paths::parse,
        (path: Str<L>, elements: Buf<u8>, bytes: Out<u32>, flags: u32);
    PdhParseInstanceNameA PdhParseInstanceNameW = paths::parse_instance,
        (text: Str<L>, instance: Buf<L>, instance_size: Out<u32>, parent: Buf<L>, parent_size: Out<u32>,
         index: Out<u32>);
    PdhValidatePathA PdhValidatePathW = paths::validate, (path: Str<L>);
    PdhValidatePathExA PdhValidatePathExW = paths::validate_in, (source: Handle, path: Str<L>);
    PdhGetDefaultPerfObjectA PdhGetDefaultPerfObjectW = names::default_object,
        (source: Str<L>, machine: Str<L>, object: Buf<L>, size: Out<u32>);
    PdhGetDefaultPerfObjectHA PdhGetDefaultPerfObjectHW = names::default_object,
        (source: Handle, machine: Str<L>, object: Buf<L>, size: Out<u32>);
    PdhGetDefaultPerfCounterA PdhGetDefaultPerfCounterW = names::default_counter,
        (source: Str<L>, machine: Str<L>, object: Str<L>, counter: Buf<L>, size: Out<u32>);
    PdhGetDefaultPerfCounterHA PdhGetDefaultPerfCounterHW = names::default_counter,
        (source: Handle, machine: Str<L>, object: Str<L>, counter: Buf<L>, size: Out<u32>);
    PdhExpandCounterPathA PdhExpandCounterPathW = paths::expand_here,
        (pattern: Str<L>, list: Buf<L>, size: Out<u32>);
    PdhExpandWildCardPathA PdhExpandWildCardPathW = paths::expand,
        (source: Str<L>, pattern: Str<L>, list: Buf<L>, size: Out<u32>, flags: u32);
    PdhExpandWildCardPathHA PdhExpandWildCardPathHW = paths::expand,
        (source: Handle, pattern: Str<L>, list: Buf<L>, size: Out<u32>, flags: u32);
    PdhLookupPerfNameByIndexA PdhLookupPerfNameByIndexW = names::name_of_index,
        (machine: Str<L>, index: u32, name: Buf<L>, size: Out<u32>);
    PdhLookupPerfIndexByNameA PdhLookupPerfIndexByNameW = names::index_of_name,
        (machine: Str<L>, name: Str<L>, index: Out<u32>);
    PdhGetDataSourceTimeRangeA PdhGetDataSourceTimeRangeW = logs::time_range,
        (source: Str<L>, entries: Out<u32>, info: Buf<TimeInfo>, bytes: Out<u32>);
    PdhBindInputDataSourceA PdhBindInputDataSourceW = logs::bind, (source: Out<Handle>, names: Str<L>);
    PdhBrowseCountersA PdhBrowseCountersW = dialog::browse, (config: Out<Config<L, Str<L>>>);
    PdhBrowseCountersHA PdhBrowseCountersHW = dialog::browse, (config: Out<Config<L, Handle>>);
    PdhSelectDataSourceA PdhSelectDataSourceW = source_dialog::select,
        (owner: Handle, flags: u32, source: Buf<L>, size: Out<u32>);
    PdhOpenLogA PdhOpenLogW = recordings::open,
        (name: Str<L>, access: u32, kind: Out<u32>, query: Handle, maximum: u32, caption: Str<L>,
         log: Out<Handle>);
    PdhUpdateLogA PdhUpdateLogW = recordings::update, (log: Handle, user_string: Str<L>);
    PdhVerifySQLDBA PdhVerifySQLDBW = log_sets::verify, (source: Str<L>);
    PdhCreateSQLTablesA PdhCreateSQLTablesW = log_sets::create_tables, (source: Str<L>);
    PdhEnumLogSetNamesA PdhEnumLogSetNamesW = log_sets::names,
        (source: Str<L>, names: Buf<L>, size: Out<u32>);
}

super::plain! {
    PdhIsRealTimeQuery = query::is_live => 0, (query: Handle) -> i32;
}
