//! Statuses of the performance data helper, and the status of each failure of the library.

use tallymon::core::flow::{NoValue, SourceError, SourceErrorKind};
use tallymon::library::program::find_program;
use tallymon::log::{LogError, LogErrorKind};
use tallymon::{PathError, PathPart, PathProblem};

/// A status of pdhmsg.h, or an error of winerror.h where the helper passes one on.
pub(crate) type Status = u32;

/// The result of a function of the helper: an `Err` is the status that it returns.
pub(crate) type Done = Result<(), Status>;

pub(crate) const VALID_DATA: Status = 0;
pub(crate) const NO_MACHINE: Status = 0x8000_07D0;
pub(crate) const NO_INSTANCE: Status = 0x8000_07D1;
pub(crate) const MORE_DATA: Status = 0x8000_07D2;
pub(crate) const ITEM_NOT_VALIDATED: Status = 0x8000_07D3;
pub(crate) const RETRY: Status = 0x8000_07D4;
pub(crate) const NO_DATA: Status = 0x8000_07D5;
pub(crate) const DIALOG_CANCELLED: Status = 0x8000_07D9;
pub(crate) const CANNOT_SET_DEFAULT: Status = 0x8000_07DC;
pub(crate) const NO_OBJECT: Status = 0xC000_0BB8;
pub(crate) const NO_COUNTER: Status = 0xC000_0BB9;
pub(crate) const CSTATUS_INVALID_DATA: Status = 0xC000_0BBA;
pub(crate) const MEMORY_ALLOCATION_FAILURE: Status = 0xC000_0BBB;
pub(crate) const INVALID_HANDLE: Status = 0xC000_0BBC;
pub(crate) const INVALID_ARGUMENT: Status = 0xC000_0BBD;
pub(crate) const NO_COUNTERNAME: Status = 0xC000_0BBF;
pub(crate) const BAD_COUNTERNAME: Status = 0xC000_0BC0;
pub(crate) const INSUFFICIENT_BUFFER: Status = 0xC000_0BC2;
pub(crate) const CANNOT_CONNECT_MACHINE: Status = 0xC000_0BC3;
pub(crate) const INVALID_PATH: Status = 0xC000_0BC4;
pub(crate) const INVALID_INSTANCE: Status = 0xC000_0BC5;
pub(crate) const INVALID_DATA: Status = 0xC000_0BC6;
pub(crate) const NO_DIALOG_DATA: Status = 0xC000_0BC7;
pub(crate) const CANNOT_READ_NAME_STRINGS: Status = 0xC000_0BC8;
pub(crate) const LOG_FILE_CREATE_ERROR: Status = 0xC000_0BC9;
pub(crate) const LOG_FILE_OPEN_ERROR: Status = 0xC000_0BCA;
pub(crate) const LOG_TYPE_NOT_FOUND: Status = 0xC000_0BCB;
pub(crate) const NO_MORE_DATA: Status = 0xC000_0BCC;
pub(crate) const ENTRY_NOT_IN_LOG_FILE: Status = 0xC000_0BCD;
pub(crate) const DATA_SOURCE_IS_REAL_TIME: Status = 0xC000_0BCF;
pub(crate) const UNABLE_READ_LOG_HEADER: Status = 0xC000_0BD0;
pub(crate) const FILE_NOT_FOUND: Status = 0xC000_0BD1;
pub(crate) const FILE_ALREADY_EXISTS: Status = 0xC000_0BD2;
pub(crate) const NOT_IMPLEMENTED: Status = 0xC000_0BD3;
pub(crate) const STRING_NOT_FOUND: Status = 0xC000_0BD4;
pub(crate) const UNKNOWN_LOG_FORMAT: Status = 0xC000_0BD6;
pub(crate) const ACCESS_DENIED: Status = 0xC000_0BDB;
pub(crate) const LOG_FILE_TOO_SMALL: Status = 0xC000_0BDC;
pub(crate) const INVALID_DATASOURCE: Status = 0xC000_0BDD;
pub(crate) const INVALID_SQLDB: Status = 0xC000_0BDE;
pub(crate) const NO_COUNTERS: Status = 0xC000_0BDF;
pub(crate) const SQL_EXEC_DIRECT_FAILED: Status = 0xC000_0BE2;
pub(crate) const SQL_CONNECT_FAILED: Status = 0xC000_0BE6;
pub(crate) const INVALID_SQL_LOG_FORMAT: Status = 0xC000_0BF5;
pub(crate) const BINARY_LOG_CORRUPT: Status = 0xC000_0BF7;
pub(crate) const INCORRECT_APPEND_TIME: Status = 0xC000_0BFB;

/// The status of a path that cannot be used.
pub(crate) fn of_path(error: &PathError) -> Status {
    match (&error.problem, error.part) {
        (PathProblem::Source(error), _) => of_source(error),
        (PathProblem::OtherHost(_), _) => NO_MACHINE,
        (PathProblem::InstanceMissing(_) | PathProblem::NoInstances(_), _) => NO_INSTANCE,
        // Without the program that loads libraries, no library can answer.
        (PathProblem::NotAnswering(_), _) if find_program().is_none() => FILE_NOT_FOUND,
        (PathProblem::NotAnswering(_), _) => NO_DATA,
        (PathProblem::Unknown(_), PathPart::Object) => NO_OBJECT,
        (PathProblem::Unknown(_), _) => NO_COUNTER,
        (_, _) => BAD_COUNTERNAME,
    }
}

/// The status of a source that has no answer.
pub(crate) const fn of_source(error: &SourceError) -> Status {
    match error.kind {
        SourceErrorKind::NotFound => FILE_NOT_FOUND,
        SourceErrorKind::AccessDenied => ACCESS_DENIED,
        SourceErrorKind::Unreachable => CANNOT_CONNECT_MACHINE,
        _ => NO_DATA,
    }
}

/// The status of a log that cannot be read.
pub(crate) fn of_log(error: &LogError) -> Status {
    match &error.kind {
        LogErrorKind::NotALog(_) => LOG_TYPE_NOT_FOUND,
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => FILE_NOT_FOUND,
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => ACCESS_DENIED,
        LogErrorKind::Unusable(_) => UNABLE_READ_LOG_HEADER,
        _ => LOG_FILE_OPEN_ERROR,
    }
}

/// The status of a log that cannot be written.
pub(crate) fn of_log_write(error: &LogError) -> Status {
    match &error.kind {
        LogErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => ACCESS_DENIED,
        _ => LOG_FILE_CREATE_ERROR,
    }
}

/// For a missing value: the status that the function returns, and the `CStatus` of the value.
pub(crate) const fn of_value(why: NoValue) -> (Status, Status) {
    match why {
        NoValue::UnknownType | NoValue::NotNumeric => (INVALID_ARGUMENT, CSTATUS_INVALID_DATA),
        NoValue::NegativeValue | NoValue::NegativeDenominator | NoValue::NegativeTimebase => {
            (why.pdh_status().code, why.pdh_status().code)
        }
        NoValue::NoMachine | NoValue::NoObject | NoValue::NoCounter | NoValue::NoInstance => {
            (INVALID_DATA, why.pdh_status().code)
        }
        _ => (INVALID_DATA, CSTATUS_INVALID_DATA),
    }
}
