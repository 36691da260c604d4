//! What stays the same of a series when its instance gets another name, such as `worker#2` instead of
//! `worker#3`.

use tallymon::InstanceIdentity;
use tallymon::core::title::TitleIndex;

/// Object, counter, and the identity of the instance.
pub(super) type SeriesIdentity = (TitleIndex, TitleIndex, InstanceIdentity);
