//! What stays the same of a series when its instance gets another name, such as `worker#2` instead of
//! `worker#3`.

use tallymon::InstanceIdentity;
use tallymon::core::title::TitleIndex;

/// The place of the host, object, counter, and the identity of the instance.
pub(super) type SeriesIdentity = (usize, TitleIndex, TitleIndex, InstanceIdentity);
