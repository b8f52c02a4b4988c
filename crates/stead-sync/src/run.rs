//! What each verb does with its options.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use serde::Serialize;
use stead::carry::State;
use stead::format::hex;
use stead::store::{self, Accept, KEEP};
use stead::Store;

use crate::access::Access;
use crate::carry::ahead::Ahead;
use crate::carry::audit::audit;
use crate::carry::files::agent::serve;
use crate::carry::machine::{refuse_empty, reverse, Machine};
use crate::carry::settings::Settings;
use crate::carry::standing::Standing;
use crate::carry::survey::{ahead, count};
use crate::confirm::told_registered;
use crate::exit::{say, Failure, Result, CONFLICT, IO, NOT_YET, NO_INPUT, PIPE, REFUSED};
use crate::hub::{short, Host, Hub, Shared};
use crate::instance;
use crate::interrupted::{say_goodbye, say_how_to_go_on};
use crate::line::{
    AllowPull, AllowPush, CarryTask, Forget, Pull, Push, Status, Task, Until, Wait, Watch,
};
use crate::metrics::MetricsFile;
use crate::open::{open, shared};
use crate::origin;
use crate::paragraph::for_terminal;
use crate::patience::{hosts_have, wait, Patience};
use crate::pull::{pull, refuse_across};
use crate::push::{check_identity, push, refuse_other, waiting, Allowed, Pushed};
use crate::report::Report;
use crate::status;
use crate::turns::told;
use crate::watch;

/// How many epochs etcd keeps: a large map is stored whole each time.
const KEEP_ETCD: usize = 8;

/// Runs a verb.
pub fn run(task: Task) -> Result {
    match task {
        Task::Push(task) => run_push(&task),
        Task::Pull(task) => run_pull(&task),
        Task::Watch(task) => run_watch(task),
        Task::Status(task) => run_status(&task),
        Task::Wait(task) => run_wait(&task),
        Task::Forget(task) => run_forget(&task),
        Task::Carry(task) => run_carry(&task.task),
    }
}

fn hub(url: &str, access: &Access) -> Result<Box<dyn Hub>> {
    open(url, access, Duration::from_secs(1))
}

fn run_push(task: &Push) -> Result {
    let hub = hub(&task.url, &task.access)?;
    let to = shared(&*hub, &task.url)?;
    let keep = match (task.keep, task.url.starts_with("etcd")) {
        (Some(n), _) => n as usize,
        (None, true) => KEEP_ETCD,
        (None, false) => KEEP,
    };
    let allowed = Allowed {
        fork: task.allow.contains(&AllowPush::Fork),
        first: task.allow.contains(&AllowPush::First),
        skip: task.allow.contains(&AllowPush::Skip),
    };
    // where hosts cannot register before the first map, nobody knows whether some wait
    let is_begun = to.is_begun().unwrap_or(true);
    let (map, pushed) = push(&*hub, to, &task.url, &task.map, allowed, keep)?;
    let epoch = map.epoch();
    let name = map.name();
    let digest = hex(&map.digest());
    match pushed {
        Pushed::Done(None) => {
            let told = match (waiting(&to.hosts().unwrap_or_default()), is_begun) {
                (Some(waiting), _) => format!("{waiting} for it"),
                (None, true) => "no host follows this hub yet".to_owned(),
                (None, false) => {
                    "no host follows this hub yet; a watch that waits for it registers now"
                        .to_owned()
                }
            };
            out(&format!(
                "{name}: epoch {epoch} is the hub's first map; {told}\n"
            ))
        }
        Pushed::Done(Some(head)) if head.digest == map.digest() => out(&format!(
            "{name}: epoch {epoch} was damaged at the hub, and is whole there again\n"
        )),
        Pushed::Done(Some(head)) if head.epoch >= epoch => {
            let which = if head.epoch == epoch { "another " } else { "" };
            out(&format!(
                "{name}: epoch {epoch} ({}) is the hub's newest, in place of {which}epoch {} ({})\n",
                short(&digest),
                head.epoch,
                short(&hex(&head.digest))
            ))
        }
        Pushed::Done(Some(head)) => out(&format!(
            "{name}: epoch {epoch} is the hub's newest, after epoch {}\n",
            head.epoch
        )),
        Pushed::Already(_) => out(&format!("{name}: the hub has epoch {epoch} already\n")),
        Pushed::OnTheWay(newest) => Err(Failure::new(
            CONFLICT,
            format_args!(
                "{name}: pushed {} of {newest}, since hosts must not skip a state of the carry: \
                 push again when all hosts have confirmed it (`stead-sync wait {} --epoch {epoch} \
                 --grace SECONDS`)",
                told(&map),
                task.url
            ),
        )),
    }
}

fn run_pull(task: &Pull) -> Result {
    let hub = hub(&task.url, &task.access)?;
    let store = Store::new(&task.map, KEEP);
    let host = match task.unregistered {
        true => None,
        false => Some(instance::host(task.host.as_deref())?),
    };
    // a host that cannot take the map must not be waited for, nor report another cluster's map
    store.check_place()?;
    let none = || {
        Failure::new(
            NO_INPUT,
            format_args!("{}: no map was pushed there yet", task.url),
        )
    };
    let head = hub.head()?.ok_or_else(none)?;
    if let Ok(Some(map)) = store.current() {
        check_identity(&*hub, &head, &map, "nothing was changed")?;
    }
    let accept = Accept {
        back: task.allow.contains(&AllowPull::Back),
        fork: task.allow.contains(&AllowPull::Fork),
    };
    let mut registered = None;
    let mut is_new = false;
    if let Some(host) = &host {
        let known = hub.shared().map(|to| to.hosts()).transpose()?;
        let is_other = |known: &Host| known.report.host != *host;
        is_new = known.is_some_and(|hosts| hosts.iter().all(is_other));
        registered = watch::register(&*hub, host, &task.map)?;
    }
    let before = store.current();
    if (accept.back || accept.fork) && !task.allow.contains(&AllowPull::Carry) {
        refuse_across(&*hub, &store, &task.url, accept)?;
    }
    let pulled = match pull(&*hub, &store, KEEP, accept) {
        Err(failure) => {
            if let (Some(report), Some(to)) = (registered, hub.shared()) {
                let digest = |map: stead::Result<Option<stead::Map>>| Some(map.ok()??.digest());
                let took_none = digest(before) == digest(store.current());
                let host = report.host.clone();
                let is_told = tell_lacking(to, report, &store, &failure);
                // nobody knew this host, and it has taken nothing: it need not be waited for
                if is_new && took_none && !is_told {
                    let _ = to.forget(&host);
                }
            }
            return Err(failure);
        }
        pulled => pulled?.ok_or_else(none)?,
    };
    let head = &pulled.head;
    if let (Some(mut report), Some(to)) = (registered, hub.shared()) {
        report.epoch = head.epoch;
        report.installed = head.epoch;
        report.digest = hex(&head.digest);
        report.time = watch::seconds();
        to.report(&report, false)?;
    }
    let map = task.map.display();
    let told = |mended: &str| format!("{}{mended}", head.told());
    let text = match (before, pulled.standing) {
        (Ok(Some(_)), store::Standing::Same) => {
            let completed = match pulled.older {
                0 => "",
                _ => "; what its history lacked came from the hub",
            };
            format!("epoch {} is here already{completed}", head.epoch)
        }
        (Ok(None), store::Standing::First) | (Ok(Some(_)), _) => told(""),
        (Ok(None), _) => told("; the map here was missing, and is replaced"),
        (Err(_), _) => told("; the map here was damaged, and is replaced"),
    };
    out(&format!("{map}: {text}\n"))?;
    if let Some(host) = host.filter(|_| is_new) {
        say(&format!(
            "registered as host {host}: who waits for all hosts waits for this one from now on; \
             operators pull with --unregistered"
        ));
    }
    Ok(())
}

/// Reports a pull that failed on a host whose programs cannot read by the map here, since the
/// history lacks the map where the data of an open carry was. Otherwise the hub would show it as
/// current. Returns whether it is such a host.
fn tell_lacking(to: &dyn Shared, report: Report, store: &Store, failure: &Failure) -> bool {
    let here = store.current().ok().flatten();
    let is_lacking = here.is_some_and(|map| origin::lacking(store, &map).is_some());
    if !is_lacking || failure.is_contact() || failure.code == CONFLICT {
        return false;
    }
    let report = Report {
        epoch: 0,
        digest: String::new(),
        problem: Some(failure.line.clone()),
        time: watch::seconds(),
        ..report
    };
    // the pull has failed anyway, and says why
    let _ = to.report(&report, false);
    true
}

fn run_watch(task: Watch) -> Result {
    let hub = open(&task.url, &task.access, Duration::from_secs(task.every))?;
    let options = watch::Options {
        host: instance::host(task.host.as_deref())?,
        url: task.url,
        map: task.map,
        readers: task.readers,
        exec: task.exec,
        exec_limit: Duration::from_secs(task.exec_limit),
        metrics: task.metrics,
    };
    let access = task.access;
    let watch = watch::Watch::new(hub, options.clone())?;
    say_goodbye(&options, &access)?;
    watch.run()
}

fn run_status(task: &Status) -> Result {
    let hub = hub(&task.url, &task.access)?;
    let hosts = shared(&*hub, &task.url)?.hosts()?;
    let head = hub.head()?;
    let status = status::Status::of(&task.url, head.as_ref(), &hosts, watch::seconds());
    match task.json {
        true => {
            let text = serde_json::to_string_pretty(&status);
            out(&(text.unwrap_or_default() + "\n"))?;
        }
        false => out(&status.table(head.as_ref()))?,
    }
    if head.is_none() {
        return Err(Failure::new(
            NO_INPUT,
            format_args!(
                "{}: this hub has no map; is the URL right? `stead-sync push` brings the first one",
                task.url
            ),
        ));
    }
    match status.is_well() {
        true => Ok(()),
        false => Err(silent(NOT_YET)),
    }
}

fn run_wait(task: &Wait) -> Result {
    let hub = hub(&task.url, &task.access)?;
    let epoch = match task.epoch {
        Some(epoch) => epoch,
        None => match hub.head()? {
            Some(head) => head.epoch,
            None => {
                return Err(Failure::new(
                    NO_INPUT,
                    format_args!(
                        "{}: no map was pushed there; look at the URL, or, if the map is still to \
                         come, give --epoch",
                        task.url
                    ),
                ))
            }
        },
    };
    let patience = Patience {
        epoch,
        grace: Duration::from_secs(task.grace),
        timeout: task.timeout.map(Duration::from_secs),
        by_carrier: false,
    };
    let n = wait(&*hub, &task.url, patience)?;
    out(&format!("{} confirmed epoch {epoch}\n", hosts_have(n)))
}

fn run_forget(task: &Forget) -> Result {
    let hub = hub(&task.url, &task.access)?;
    let host = instance::host(Some(&task.host))?;
    let shared = shared(&*hub, &task.url)?;
    let carried = carried(&*hub)?;
    let hosts = shared.hosts()?;
    let known = hosts.iter().find(|known| known.report.host == host);
    let is_there = known.is_some();
    let is_alive = known.is_some_and(|known| known.alive);
    let is_carrier = known.is_some_and(|known| known.report.is_carrier());
    if is_carrier && carried.is_some() && !task.alive {
        return Err(Failure::new(
            REFUSED,
            format_args!(
                "{host} is a carrier, and a carry is open: if its run is at work, two would work at \
                 once; `stead-sync carry status` there says whether it is; if it has ended, add \
                 --alive"
            ),
        ));
    }
    if is_alive && carried.is_some() && !task.alive {
        return Err(Failure::new(
            REFUSED,
            format_args!(
                "{host}: its watch is at work, or was until just now, and a carry is open, which \
                 would go on while programs there read and write by the state before; end them and \
                 the watch, and wait a minute and a half; if they have ended, add --alive"
            ),
        ));
    }
    let may_be_lost = task.lost && carried.is_some();
    if !is_there && !may_be_lost {
        let told = told_registered(&host, &hosts);
        let way = match carried {
            Some(_) => "; if the hub has lost it, and a carry waits for it, add --lost",
            None => "",
        };
        return Err(Failure::new(
            NO_INPUT,
            format_args!("{host}: no host has this name{told}{way}"),
        ));
    }
    // first, so that nothing has changed if it fails: until the next line, a carry takes the host
    // for one that the hub has lost, and stops
    let was_there = shared.forget(&host)?;
    if let Some(epoch) = carried {
        shared.give_up(&host, epoch)?;
    }
    let again = match is_alive {
        true => "; its watch was alive just now, and registers it again unless it has ended",
        false => "",
    };
    match was_there || is_there {
        true => out(&format!("{host} is forgotten{again}\n")),
        false => out(&format!(
            "{host}: the hub does not know it; if the open carry waited for it, it does so no longer\n"
        )),
    }
}

/// Returns the newest epoch of a hub if a carry is open in it.
fn carried(hub: &dyn Hub) -> Result<Option<u64>> {
    let Some(head) = hub.head()? else {
        return Ok(None);
    };
    let map = hub.map(&head, head.epoch)?;
    let is_open = map.is_some_and(|map| map.carry().is_some());
    Ok(is_open.then_some(head.epoch))
}

fn run_carry(task: &CarryTask) -> Result {
    match task {
        CarryTask::Run(task) => {
            let settings = Settings::read(&task.file)?;
            let hub = hub(&settings.url, &task.access)?;
            let (report, end) = match task.dry_run {
                true => {
                    // a hub that the carry could not use is told beforehand, too
                    shared(&*hub, &settings.url)?;
                    refuse_empty(&*hub, &settings)?;
                    refuse_other(&*hub, &settings.map)?;
                    count(&settings, &settings.map, &task.moved)?
                }
                false => {
                    let until = task.until.map(|until| match until {
                        Until::Old => State::Old,
                        Until::BothOldFirst => State::BothOldFirst,
                        Until::BothNewFirst => State::BothNewFirst,
                        Until::New => State::New,
                    });
                    let machine = Machine::new(&settings, &*hub, until)?;
                    say_how_to_go_on(&task.file)?;
                    machine.moved(&task.moved).run()
                }
            };
            let is_told = !task.dry_run && are_one_place(io::stdout(), io::stderr());
            print_report(task.json, &report, || match is_told {
                true => report.untold(),
                false => report.text(),
            })?;
            end
        }
        CarryTask::Status(task) => {
            let settings = Settings::read(&task.file)?;
            let hub = hub(&settings.url, &task.access)?;
            let standing = Standing::of(&settings, &*hub)?;
            if let Some(file) = &task.metrics {
                MetricsFile::new(file).write(&standing.metrics(&settings.map))?;
            }
            print_report(task.json, &standing, || standing.text())?;
            match standing.state {
                Some(_) => Err(silent(NOT_YET)),
                None => Ok(()),
            }
        }
        CarryTask::Ahead(task) => {
            let settings = Settings::read(&task.file)?;
            let tell = |ahead: Ahead| match task.json {
                true => out(&(serde_json::to_string(&ahead).unwrap_or_default() + "\n")),
                false => out(&ahead.line()),
            };
            let counted = ahead(&settings, &tell)?;
            say(&counted.text());
            match counted.all() {
                0 => Ok(()),
                _ => Err(silent(NOT_YET)),
            }
        }
        CarryTask::Audit(task) => {
            let settings = Settings::read(&task.file)?;
            let hub = match task.bring {
                true => Some(hub(&settings.url, &task.access)?),
                false => None,
            };
            let (found, end) = audit(&settings, task.epoch, hub.as_deref(), task.fill)?;
            print_report(task.json, &found, || found.text())?;
            end?;
            match found.left() {
                0 => Ok(()),
                _ => Err(silent(NOT_YET)),
            }
        }
        CarryTask::Agent => serve(io::stdin(), io::stdout())
            .map_err(|error| Failure::io("the line to the carrier", &error)),
        CarryTask::Reverse(task) => {
            let settings = Settings::read(&task.file)?;
            let hub = hub(&settings.url, &task.access)?;
            let map = reverse(&settings, &*hub)?;
            let state = map.carry().map_or("closed", |carry| carry.state.word());
            out(&format!(
                "epoch {}: the carry is being reversed, and is in the state {state}; `stead-sync \
                 carry run` takes it back\n",
                map.epoch()
            ))
        }
    }
}

/// Whether two streams show their lines in one place: both on a terminal, or both in one file.
fn are_one_place(one: impl AsFd + IsTerminal, other: impl AsFd + IsTerminal) -> bool {
    let file = |stream: &dyn AsFd| {
        let found = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        found.metadata().ok().map(|file| (file.dev(), file.ino()))
    };
    let is_one = file(&one).is_some_and(|found| file(&other) == Some(found));
    is_one || (one.is_terminal() && other.is_terminal())
}

/// Prints a report as text, wrapped on a terminal, or as JSON.
fn print_report(json: bool, report: &impl Serialize, text: impl FnOnce() -> String) -> Result {
    match json {
        true => out(&(serde_json::to_string_pretty(report).unwrap_or_default() + "\n")),
        false => out(&for_terminal(&text())),
    }
}

/// A failure whose reason was printed already.
fn silent(code: u8) -> Failure {
    Failure {
        code,
        line: String::new(),
    }
}

/// Writes to standard output. A write that fails ends the program with one line.
fn out(text: &str) -> Result {
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    let done = file.and_then(|mut file| file.write_all(text.as_bytes()));
    done.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => silent(PIPE),
        _ => Failure::new(IO, format_args!("cannot write standard output: {error}")),
    })
}
