//! `poll_oneoff`: waiting for descriptors and clocks.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Call, yield_now};
use super::clock::Clock;
use super::memory::{GuestMemory, Reader, Writer};
use super::rights::Rights;
use crate::errno::{Errno, SysResult};
use crate::process::{Description, Interest, PollEvent, Process};

/// Questions in one call. As poll(2) refuses more than the open-files limit, and with it at most two a descriptor.
const MAX_SUBSCRIPTIONS: u32 = 8192;
const SUBSCRIPTION: u32 = 48;
const EVENT: u32 = 32;
/// Kinds of subscriptions and events.
const CLOCK: u8 = 0;
const FD_READ: u8 = 1;
const FD_WRITE: u8 = 2;

/// What a subscription asks for.
#[derive(Clone, Copy, Debug)]
enum Question {
    Clock {
        clock: Clock,
        timeout: u64,
        absolute: bool,
    },
    Descriptor(u32, Interest),
}

/// One subscription, with what it takes to answer it.
struct Subscription {
    userdata: u64,
    kind: u8,
    state: State,
}

enum State {
    /// It is answered with this error at once.
    Failed(Errno),
    /// The clock reaches this many nanoseconds.
    Deadline(Clock, u64),
    /// Index into the list of descriptors that are polled.
    Descriptor(usize),
}

pub(super) async fn poll_oneoff(
    call: &mut Call<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    result: u32,
) -> SysResult<()> {
    if count == 0 || count > MAX_SUBSCRIPTIONS {
        return Err(Errno::Invalid);
    }
    call.memory.check(result, 4)?;
    call.memory.check(events, count.saturating_mul(EVENT))?;
    let mut asked = Vec::new();
    let mut descriptors = Vec::new();
    for index in 0..count {
        let at = subscriptions
            .checked_add(index.saturating_mul(SUBSCRIPTION))
            .ok_or(Errno::Fault)?;
        asked.push(subscription(call, at, &mut descriptors)?);
    }
    let process = Arc::clone(call.context.process());
    let failed = asked
        .iter()
        .any(|subscription| matches!(subscription.state, State::Failed(_)));
    loop {
        let wait = if failed {
            Some(0)
        } else {
            shortest_wait(&process, &asked)?
        };
        let ready = wait_for(&process, &descriptors, wait).await?;
        let told = answer(&mut call.memory, &process, &asked, &ready, events)?;
        // A timer can fire before the real-time clock, which may be set back, shows its time.
        if told > 0 {
            return call.memory.write_u32(result, told);
        }
        yield_now().await;
    }
}

async fn wait_for(
    process: &Process,
    descriptors: &[(Arc<Description>, Interest)],
    wait: Option<u64>,
) -> SysResult<Vec<PollEvent>> {
    match wait {
        Some(0) => process.poll_fds(descriptors, std::future::ready(())).await,
        Some(ns) => {
            let timeout = tokio::time::sleep(Duration::from_nanos(ns));
            process.poll_fds(descriptors, timeout).await
        }
        None => process.poll_fds(descriptors, std::future::pending()).await,
    }
}

/// Stores an event for each question that has its answer, and returns how many.
fn answer(
    memory: &mut GuestMemory<'_>,
    process: &Process,
    asked: &[Subscription],
    ready: &[PollEvent],
    events: u32,
) -> SysResult<u32> {
    let mut told: u32 = 0;
    for subscription in asked {
        let event = match subscription.state {
            State::Failed(errno) => Some((errno.number(), 0, 0)),
            State::Deadline(clock, at) => (clock.now(process)? >= at).then_some((0, 0, 0)),
            // `ready` is in the order of the questions.
            State::Descriptor(index) => ready
                .binary_search_by_key(&index, |event| event.index)
                .ok()
                .and_then(|found| ready.get(found))
                .map(|event| {
                    let readable = subscription.kind == FD_READ;
                    let available = if readable {
                        event.readiness.available
                    } else {
                        0
                    };
                    (0, available, u16::from(event.readiness.hangup))
                }),
        };
        if let Some(event) = event {
            let at = events.saturating_add(told.saturating_mul(EVENT));
            write_event(memory, at, subscription, event)?;
            told = told.saturating_add(1);
        }
    }
    Ok(told)
}

fn write_event(
    memory: &mut GuestMemory<'_>,
    at: u32,
    subscription: &Subscription,
    (errno, available, flags): (u16, u64, u16),
) -> SysResult<()> {
    let event = Writer::<32>::new()
        .u64(subscription.userdata)
        .u16(errno)
        .u8(subscription.kind)
        .pad::<5>()
        .u64(available)
        .u16(flags)
        .bytes();
    memory.write(at, &event)
}

fn subscription(
    call: &Call<'_>,
    at: u32,
    descriptors: &mut Vec<(Arc<Description>, Interest)>,
) -> SysResult<Subscription> {
    let mut reader = Reader::new(call.memory.bytes(at, SUBSCRIPTION)?);
    let userdata = reader.u64()?;
    let kind = reader.u8()?;
    reader.skip::<7>()?;
    let state = match question(kind, &mut reader) {
        Ok(question) => state(call, question, descriptors)?,
        Err(error) => State::Failed(error),
    };
    Ok(Subscription {
        userdata,
        kind,
        state,
    })
}

fn question(kind: u8, reader: &mut Reader<'_>) -> SysResult<Question> {
    match kind {
        CLOCK => {
            let clock = Clock::parse(reader.u32()?)?;
            reader.skip::<4>()?;
            let timeout = reader.u64()?;
            reader.u64()?;
            let flags = reader.u16()?;
            // As clock_nanosleep(2) with a thread's CPU clock: there is nothing to wait on.
            if clock == Clock::Cpu || flags > 1 {
                return Err(Errno::NotSupported);
            }
            Ok(Question::Clock {
                clock,
                timeout,
                absolute: flags == 1,
            })
        }
        FD_READ => Ok(Question::Descriptor(reader.u32()?, Interest::Read)),
        FD_WRITE => Ok(Question::Descriptor(reader.u32()?, Interest::Write)),
        _ => Err(Errno::Invalid),
    }
}

fn state(
    call: &Call<'_>,
    question: Question,
    descriptors: &mut Vec<(Arc<Description>, Interest)>,
) -> SysResult<State> {
    Ok(match question {
        Question::Clock {
            clock,
            timeout,
            absolute: true,
        } => State::Deadline(clock, timeout),
        // A relative time of any clock passes by the monotonic one.
        Question::Clock {
            timeout,
            absolute: false,
            ..
        } => {
            let now = Clock::Monotonic.now(call.context.process())?;
            State::Deadline(Clock::Monotonic, now.saturating_add(timeout))
        }
        Question::Descriptor(fd, interest) => {
            match call.context.description(fd, Rights::POLL_FD_READWRITE) {
                Ok(description) => {
                    descriptors.push((description, interest));
                    State::Descriptor(descriptors.len().saturating_sub(1))
                }
                Err(error) => State::Failed(error),
            }
        }
    })
}

/// Nanoseconds until the first deadline; `None` when there is none.
fn shortest_wait(process: &Process, asked: &[Subscription]) -> SysResult<Option<u64>> {
    let mut shortest = None;
    for subscription in asked {
        if let State::Deadline(clock, at) = subscription.state {
            let wait = at.saturating_sub(clock.now(process)?);
            shortest = Some(shortest.map_or(wait, |shortest: u64| shortest.min(wait)));
        }
    }
    Ok(shortest)
}
