//! The publishing functions of tallymon.h.

use tallymon::shm::{Instance, Publisher, Writer};

use super::plain;
use crate::memory::{Buf, Out, Owned, Str};
use crate::publish::declare::NewSet;
use crate::publish::{self, ERROR_INVALID_FUNCTION};

plain! {
    TallymonErrorText = publish::error_text => ERROR_INVALID_FUNCTION, (text: Buf<u8>, size: Out<u32>) -> u32;
    TallymonPublisherStart = publish::start => ERROR_INVALID_FUNCTION,
        (name: Str<u8>, sets: Buf<NewSet>, count: u32, publisher: Out<Owned<Publisher>>) -> u32;
    TallymonPublisherKeepLastValues = publish::keep_last_values => ERROR_INVALID_FUNCTION,
        (publisher: Owned<Publisher>) -> u32;
    TallymonPublisherClose = publish::close => ERROR_INVALID_FUNCTION, (publisher: Owned<Publisher>) -> u32;
    TallymonInstanceCreate = publish::create => ERROR_INVALID_FUNCTION,
        (publisher: Owned<Publisher>, set: Str<u8>, name: Str<u8>, id: i32, parent: Owned<Instance>,
         instance: Out<Owned<Instance>>) -> u32;
    TallymonInstanceClose = publish::close => ERROR_INVALID_FUNCTION, (instance: Owned<Instance>) -> u32;
    TallymonCounterOpen = publish::open => ERROR_INVALID_FUNCTION,
        (instance: Owned<Instance>, name: Str<u8>, counter: Out<Owned<Writer>>) -> u32;
    TallymonCounterClose = publish::close => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>) -> u32;
    TallymonAdd = publish::add => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>, n: i64) -> u32;
    TallymonSet = publish::set => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>, value: u64) -> u32;
    TallymonGet = publish::get => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>, value: Out<u64>) -> u32;
    TallymonCounterWord = publish::word => ERROR_INVALID_FUNCTION,
        (counter: Owned<Writer>, version: u32, word: Out<usize>) -> u32;
    TallymonStartTime = publish::start_time => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>) -> u32;
    TallymonSetText = publish::set_text => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>, text: Str<u8>) -> u32;
    TallymonRecord = publish::record => ERROR_INVALID_FUNCTION, (counter: Owned<Writer>, value: u64) -> u32;
    TallymonAddAll = publish::add_all => ERROR_INVALID_FUNCTION,
        (counter: Owned<Writer>, values: Buf<u64>, count: u32) -> u32;
    TallymonSetAll = publish::set_all => ERROR_INVALID_FUNCTION,
        (counter: Owned<Writer>, values: Buf<u64>, count: u32) -> u32;
}
