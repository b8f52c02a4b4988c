//! The kinds memcached, redis and sql with real servers: writers write and delete all the while,
//! the carrier is killed again and again, and a server is killed once.

#![forbid(unsafe_code)]

mod carrier;
mod exact;
mod memcached;
mod redis;
mod servers;
mod sql;
mod trial;
