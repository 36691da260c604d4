//! How much memory publications may take: together, and for each user.
//!
//! Root's publications and those of the reader's own user share one room. Every other user has a small one,
//! and all of them together have one more: nobody can use up what belongs to somebody else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::shm::system::own_user;

/// Bytes for all publications of root and of this user.
pub(super) const MAX_OWN: usize = 256 << 20;
/// Bytes for the publications of one other user.
pub(super) const MAX_USER: usize = 16 << 20;
/// Bytes for the publications of all other users.
pub(super) const MAX_OTHERS: usize = 64 << 20;

/// A room and what is left of it.
#[derive(Debug)]
pub(super) struct Room {
    left: AtomicUsize,
    above: Option<Arc<Room>>,
}

impl Room {
    fn new(bytes: usize, above: Option<Arc<Room>>) -> Arc<Room> {
        Arc::new(Room { left: AtomicUsize::new(bytes), above })
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return false;
        }
        if self.above.as_ref().is_some_and(|above| !above.take(bytes)) {
            self.left.fetch_add(bytes, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn give(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
        if let Some(above) = &self.above {
            above.give(bytes);
        }
    }
}

/// What one publication has taken; dropping it gives it back.
#[derive(Debug)]
pub(super) struct Share {
    room: Arc<Room>,
    bytes: usize,
}

impl Share {
    /// Takes as much as it needs to have that many bytes; false when there is not so much left.
    pub(super) fn reach(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let taken = self.room.take(more);
        if taken {
            self.bytes = self.bytes.saturating_add(more);
        }
        taken
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.give(self.bytes);
    }
}

/// The rooms of all users.
#[derive(Debug)]
pub(super) struct Rooms {
    own: Arc<Room>,
    others: Arc<Room>,
    users: BTreeMap<u32, Arc<Room>>,
}

impl Rooms {
    pub(super) fn new() -> Rooms {
        Rooms { own: Room::new(MAX_OWN, None), others: Room::new(MAX_OTHERS, None), users: BTreeMap::new() }
    }

    /// An empty share in the room of a user.
    pub(super) fn share(&mut self, user: u32) -> Share {
        let room = if is_own(user) {
            Arc::clone(&self.own)
        } else {
            // Rooms of users without publications are forgotten.
            self.users.retain(|known, room| *known == user || Arc::strong_count(room) > 1);
            let others = &self.others;
            Arc::clone(
                self.users.entry(user).or_insert_with(|| Room::new(MAX_USER, Some(Arc::clone(others)))),
            )
        };
        Share { room, bytes: 0 }
    }
}

/// Whether a user is root or this one.
pub fn is_own(user: u32) -> bool {
    user == 0 || user == own_user()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_uses_up_the_room_of_others() {
        let mut rooms = Rooms::new();
        let user = own_user().wrapping_add(1).max(1);
        let mut shares: Vec<Share> = (user..user + 10).map(|user| rooms.share(user)).collect();
        let full: usize = shares.iter_mut().map(|share| usize::from(share.reach(MAX_USER))).sum();
        assert_eq!(full, MAX_OTHERS / MAX_USER);
        assert!(!shares[0].reach(MAX_USER + 1) && shares[0].reach(MAX_USER));
        assert!(rooms.share(0).reach(MAX_OWN));
        shares.remove(0);
        assert!(rooms.share(user + 20).reach(MAX_USER), "what is dropped is given back");
        assert!(rooms.share(user + 20).reach(MAX_USER));
    }
}
