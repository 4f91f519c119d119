//! Signals that ask this program to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Failure;

/// Receives SIGINT, SIGTERM and SIGHUP in place of their default actions, from its creation on.
#[derive(Debug)]
pub(crate) struct Interrupts {
    streams: [(u8, Signal); 3],
}

impl Interrupts {
    /// Starts to receive. Needs a tokio runtime with I/O.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn new() -> Result<Self, Failure> {
        let stream = |kind: SignalKind| {
            let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
            signal(kind)
                .map(|stream| (number, stream))
                .map_err(Failure::io("receive signals"))
        };
        Ok(Self {
            streams: [
                stream(SignalKind::interrupt())?,
                stream(SignalKind::terminate())?,
                stream(SignalKind::hangup())?,
            ],
        })
    }

    /// The number of the next one.
    pub(crate) async fn next(&mut self) -> u8 {
        let [(int, on_int), (term, on_term), (hup, on_hup)] = &mut self.streams;
        tokio::select! {
            _ = on_int.recv() => *int,
            _ = on_term.recv() => *term,
            _ = on_hup.recv() => *hup,
        }
    }
}
