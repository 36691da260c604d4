//! Why bytes are no answer of RPC.

use std::fmt;

/// The longest answer: the largest value of the registry, and what stands around it.
pub const MOST_BYTES: usize = (64 << 20) + (1 << 16);

/// Why bytes are no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RpcError {
    /// A field does not fit in what came.
    Short(&'static str),
    /// A field has a value that does not belong here.
    Value(&'static str, u32),
    /// The answer belongs to another call.
    Call {
        /// The call that was made.
        wanted: u32,
        /// The call that was answered.
        found: u32,
    },
    /// The server refused the interface: its reason.
    Refused(u32),
    /// The server reports a fault: its status.
    Fault(u32),
    /// The server ended the answer in the middle: so many bytes of it came.
    Cut(usize),
    /// The answer is longer than any may be.
    TooLong,
    /// The server does not log in at the level of RPC.
    NoLogin,
    /// The answer is not sealed, or somebody changed it.
    Seal,
    /// A call cannot be sealed, because the system has no random numbers.
    NoRandom,
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RpcError::Short(field) => write!(f, "damaged RPC answer: {field} is cut off"),
            RpcError::Value(field, value) => write!(f, "damaged RPC answer: {field} is {value}"),
            RpcError::Call { wanted, found } => {
                write!(f, "damaged RPC answer: it is for call {found}, and call {wanted} was made")
            }
            RpcError::Refused(reason) => {
                write!(f, "the server refuses the remote registry (reason {reason})")
            }
            RpcError::Fault(0x5) => {
                f.write_str("the server denies access to the remote registry (RPC fault 5)")
            }
            RpcError::Fault(status) => write!(f, "the server reports RPC fault 0x{status:08x}"),
            RpcError::Cut(bytes) => {
                write!(f, "the answer is cut: the server closed the pipe after {bytes} bytes of it")
            }
            RpcError::NoLogin => f.write_str("the server takes no login at the level of RPC"),
            RpcError::Seal => {
                f.write_str("an answer of RPC has no seal, or a wrong one: it was changed on its way")
            }
            RpcError::NoRandom => f.write_str("the system has no random numbers"),
            RpcError::TooLong => write!(f, "damaged RPC answer: more than {MOST_BYTES} bytes"),
        }
    }
}

impl std::error::Error for RpcError {}
