//! The verb `serve`: one router, or one of two.

use std::sync::Arc;

use clap::ArgMatches;

use super::certificates;
use super::listening::cannot_listen;
use super::places::{self, Place, Places};
use super::refusing::refuse_until;
use super::routing::route;
use super::start::Start;
use crate::connection::Address;
use crate::exit::{Failure, USAGE};
use crate::line::Serve;
use crate::log::{Log, Memory};
use crate::pair::{Facts, Pair, Saved, Standby, Waiting};
use crate::role::Role;
use crate::socket::Socket;
use crate::state::Mirror;

/// The addresses of two routers.
struct Addresses {
    peer: Address,
    own: Address,
}

/// Runs a router until it is told to stop. `given` has the places of the options on the command
/// line.
pub async fn serve(serve: Serve, given: &ArgMatches) -> Result<(), Failure> {
    let wrong = |line| Failure(USAGE, line);
    let places = places::read(&serve, given).map_err(wrong)?;
    let addresses = addresses(&serve).map_err(wrong)?;
    let listen = places.iter().map(|place| ("--listen", &place.address));
    let pair = addresses.iter();
    let pair = pair.flat_map(|two| [("--standby", &two.peer), ("--pair", &two.own)]);
    certificates::load(&serve.tls, listen.chain(pair))?;
    let start = Start::new(serve)?;
    tokio::spawn(Arc::clone(&start.state).keep_trying());
    let saved = Saved::load(start.state.dir()).map_err(|error| start.failed(error))?;
    match addresses {
        None if saved.is_some() => Err(Failure(
            USAGE,
            format!(
                "--state {} belongs to one of two routers: give --standby and --pair, or, if \
                the other router is gone for good, remove the file `pair` there",
                start.serve.state.display()
            ),
        )),
        None => {
            let log: Arc<dyn Log> = match start.serve.no_log {
                true => Arc::new(Memory::default()),
                false => start.open_log()?,
            };
            route(start, log, Places::Free(places)).await
        }
        Some(addresses) => serve_one_of_two(start, places, addresses, saved).await,
    }
}

/// Returns the addresses of the two routers, if there are two.
fn addresses(serve: &Serve) -> Result<Option<Addresses>, String> {
    let (Some(standby), Some(pair)) = (&serve.standby, &serve.pair) else {
        return Ok(None);
    };
    let peer = Address::parse(standby).map_err(|error| format!("--standby {error}"))?;
    let own = Address::parse(pair).map_err(|error| format!("--pair {error}"))?;
    if peer == own {
        return Err(format!(
            "--standby and --pair are both {own}: the first is the other router's address"
        ));
    }
    Ok(Some(Addresses { peer, own }))
}

async fn serve_one_of_two(
    mut start: Start,
    places: Vec<Place>,
    Addresses { peer, own }: Addresses,
    saved: Option<Saved>,
) -> Result<(), Failure> {
    let bound = Places::Free(places).bind(&start.serve).await?;
    let failed = |error| cannot_listen("--pair", &own, &error);
    let socket = Socket::bind(&own, start.serve.public).await;
    let socket = socket.map_err(failed)?;
    let saved = saved.unwrap_or_else(|| Saved::new(start.serve.role));
    if saved.role == Role::Standby {
        let (state, size) = (Arc::clone(&start.state), start.log_size());
        let standby = Standby::open(state, size, saved.clone(), peer, start.serves());
        let standby = standby.map_err(|error| start.failed(error))?;
        // from now on the directory says that it is a standby
        let stored = saved.store(start.state.dir());
        stored.map_err(|error| start.failed(error))?;
        tokio::spawn(Arc::clone(&standby).listen(socket));
        tokio::spawn(Arc::clone(&standby).watch_map(start.serve.map.clone()));
        let never = std::future::pending();
        let why = "the standby of two routers";
        refuse_until(&mut start, standby, &bound, never, why).await?;
        return Ok(());
    }
    let facts = Facts {
        state: Arc::clone(&start.state),
        log: start.open_log()?,
        peer,
        lost: start.serve.standby_lost,
        serves: start.serves(),
    };
    let pair = Pair::new(facts, saved).map_err(|error| start.failed(error))?;
    start.state.mirror_to(Arc::clone(&pair) as Arc<dyn Mirror>);
    let mut open = pair.open();
    pair.start(socket).map_err(failed)?;
    let opened = async move {
        let _ = open.wait_for(|open| *open).await;
    };
    let waiting = Arc::new(Waiting::new(Arc::clone(&pair)));
    let why = "waiting for the other one of two routers";
    if refuse_until(&mut start, waiting, &bound, opened, why).await? {
        start.options.pair = Some(Arc::clone(&pair));
        route(start, pair, Places::Bound(bound)).await?;
    }
    Ok(())
}
