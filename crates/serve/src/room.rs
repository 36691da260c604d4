//! Work on threads of its own, so much at a time. It holds its place until it ends, also when the client that
//! asked for it has left: clients that ask and leave cannot start more than there is room for. What reads a
//! log asks at each record whether it is still wanted, and ends soon when it is not.

use std::sync::Arc;
use tallymon_remote::asynchronous;

use hyper::StatusCode;
use tallymon::log::{ReadOptions, Wanted};
use tallymon_remote::asynchronous::sync::Semaphore;

use crate::http::Refused;

/// Room for so many pieces of work at a time.
#[derive(Debug)]
pub(crate) struct Room(Arc<Semaphore>);

/// The client waits as long as this lives.
struct Client(Wanted);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The options of a log that is read only as long as its client waits.
pub(crate) fn while_wanted(options: &ReadOptions, wanted: &Wanted) -> ReadOptions {
    ReadOptions { wanted: wanted.clone(), ..options.clone() }
}

impl Room {
    /// Room for so many.
    pub(crate) fn new(most: usize) -> Room {
        Room(Arc::new(Semaphore::new(most)))
    }

    /// Does the work when there is room.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        let permit = permit.map_err(|_| busy("the server ends"))?;
        apart(move |wanted| {
            let _permit = permit;
            work(wanted)
        })
        .await
    }
}

/// Does short work at once, beside all other work.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce(&Wanted) -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let client = Client(Wanted::until_ended());
    let wanted = client.0.clone();
    let done = asynchronous::task::spawn_blocking(move || work(&wanted)).await;
    done.map_err(|error| {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, format!("an error in this program: {error}"))
    })?
}

/// Somebody else has the room.
pub(crate) fn busy(words: &str) -> Refused {
    Refused::new(StatusCode::SERVICE_UNAVAILABLE, words)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_of_a_client_that_has_left_holds_its_place_and_learns_it() {
        let room = Room::new(1);
        let (begun, has_begun) = mpsc::channel();
        let (say, said) = mpsc::channel();
        let run = asynchronous::run(async {
            let long = room.run(move |wanted| {
                begun.send(()).unwrap();
                while wanted.is_wanted() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                // The client has left, and the place is taken still.
                std::thread::sleep(Duration::from_millis(50));
                say.send("long").unwrap();
                Ok(())
            });
            // Dropped before it is done, as hyper drops what a client has left.
            assert!(asynchronous::time::timeout(Duration::from_millis(200), long).await.is_err());
            has_begun.recv().unwrap();
            let next = room.run(move |_| Ok(said.try_recv().unwrap_or("the place was given twice")));
            assert_eq!(next.await.unwrap(), "long");
        });
        run.unwrap();
    }
}
