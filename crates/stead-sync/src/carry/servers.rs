//! The options of the kinds whose data is on servers: memcached, Redis, PostgreSQL and MariaDB.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::kind::Kind;
use super::memcached::Memcached;
use super::name_pattern::NamePatterns;
use super::names::Names;
use crate::access::Secret;
use crate::exit::{Failure, Result, NO_INPUT, USAGE};

/// The environment variable with the password, where no file is named.
const PASSWORD: &str = "STEAD_CARRY_PASSWORD";

type Made = Result<Box<dyn Kind>>;

/// `[memcached]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemcachedOptions {
    /// The address of a node: `HOST:PORT`, or the path of a socket.
    #[serde(deserialize_with = "super::template::read")]
    pub server: String,
    /// Where in a name the key is, such as `shop:{key}`, or several patterns, of which the first
    /// one that fits decides; by default the name is the key.
    pub pattern: Option<NamePatterns>,
}

/// `[redis]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedisOptions {
    /// The address of a node: `redis://HOST:PORT/DB`, `rediss://...`, or the path of a socket.
    #[serde(deserialize_with = "super::template::read")]
    pub server: String,
    /// The user; by default Redis's own.
    pub user: Option<String>,
    /// A file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// Whether the servers are caches, which evict keys.
    #[serde(default)]
    pub cache: bool,
    /// Where in a name the key is, such as `shop:{key}`, or several patterns, of which the first
    /// one that fits decides; by default the name is the key.
    pub pattern: Option<NamePatterns>,
}

/// `[postgresql]` and `[mariadb]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlOptions {
    /// The connection string of a node.
    #[serde(deserialize_with = "super::template::read")]
    pub connection: String,
    /// The user, if the connection string does not name it.
    pub user: Option<String>,
    /// A file whose first line is the password.
    pub password_file: Option<PathBuf>,
    /// The tables. One whose rows refer to rows of another one comes after it.
    pub tables: Vec<TableOptions>,
    /// Tables that each node has whole: rows may refer to theirs, and they are not carried.
    #[serde(default)]
    pub everywhere: Vec<String>,
}

/// A table with rows to carry.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableOptions {
    /// Its name.
    pub table: String,
    /// The column with the key.
    pub key: String,
}

impl MemcachedOptions {
    /// Returns the kind.
    pub fn kind(&self) -> Box<dyn Kind> {
        let names = Names::of(self.pattern.clone());
        Box::new(Memcached::new(self.server.clone(), names))
    }
}

impl RedisOptions {
    /// Returns the kind. Relative paths begin at `directory`.
    ///
    /// Errors: a password that cannot be read.
    #[cfg(feature = "redis")]
    pub fn kind(&self, directory: &Path) -> Made {
        let password = password(self.password_file.as_deref(), directory)?;
        let (server, user) = (self.server.clone(), self.user.clone());
        let kind = super::redis::Redis::new(
            server,
            user,
            password,
            self.cache,
            Names::of(self.pattern.clone()),
        );
        Ok(Box::new(kind))
    }

    /// Says that the program cannot do it.
    #[cfg(not(feature = "redis"))]
    pub fn kind(&self, _directory: &Path) -> Made {
        without("redis")
    }
}

impl SqlOptions {
    /// Returns the kind for PostgreSQL. Relative paths begin at `directory`.
    ///
    /// Errors: a password that cannot be read; no table.
    #[cfg(feature = "postgres")]
    pub fn postgresql(&self, directory: &Path) -> Made {
        self.sql::<super::sql::postgres::Postgres>(directory)
    }

    /// Says that the program cannot do it.
    #[cfg(not(feature = "postgres"))]
    pub fn postgresql(&self, _directory: &Path) -> Made {
        without("postgres")
    }

    /// Returns the kind for MariaDB. Relative paths begin at `directory`.
    ///
    /// Errors: a password that cannot be read; no table.
    #[cfg(feature = "mysql")]
    pub fn mariadb(&self, directory: &Path) -> Made {
        self.sql::<super::sql::mariadb::MariaDb>(directory)
    }

    /// Says that the program cannot do it.
    #[cfg(not(feature = "mysql"))]
    pub fn mariadb(&self, _directory: &Path) -> Made {
        without("mysql")
    }

    #[cfg(any(feature = "postgres", feature = "mysql"))]
    fn sql<D: super::sql::database::Database>(&self, directory: &Path) -> Made {
        use super::sql::{database, Sql};
        if self.tables.is_empty() {
            return Err(Failure::new(
                USAGE,
                "`tables` is empty; name a table and the column with its key",
            ));
        }
        let named = self.tables.iter().map(|options| database::Named {
            table: options.table.clone(),
            key: options.key.clone(),
        });
        let login = database::Login {
            user: self.user.clone(),
            password: password(self.password_file.as_deref(), directory)?,
        };
        let kind = Sql::<D>::new(self.connection.clone(), login, named.collect());
        Ok(Box::new(kind.with_everywhere(self.everywhere.clone())))
    }
}

/// Returns the password, if there is one.
#[cfg_attr(
    not(any(feature = "redis", feature = "postgres", feature = "mysql")),
    expect(dead_code)
)]
fn password(file: Option<&Path>, directory: &Path) -> Result<Option<Secret>> {
    let text = match file {
        Some(file) => {
            let file = directory.join(file);
            let text = fs::read_to_string(&file);
            let unread = |e| {
                Failure::new(
                    NO_INPUT,
                    format_args!(
                        "password_file {} cannot be read: {e}; correct it in the file of the \
                         carry, and write the password into its first line",
                        file.display()
                    ),
                )
            };
            let text = text.map_err(unread)?;
            let line = text.lines().next().unwrap_or_default().to_owned();
            if line.is_empty() {
                return Err(Failure::new(
                    NO_INPUT,
                    format_args!(
                        "password_file {}: its first line is empty; write the password there",
                        file.display()
                    ),
                ));
            }
            line
        }
        None => std::env::var(PASSWORD).unwrap_or_default(),
    };
    Ok((!text.is_empty()).then(|| Secret::from(text)))
}

#[cfg(not(all(feature = "redis", feature = "postgres", feature = "mysql")))]
fn without(feature: &str) -> Made {
    Err(Failure::new(
        USAGE,
        format_args!("this stead-sync was built without the feature {feature}; build it with it"),
    ))
}
