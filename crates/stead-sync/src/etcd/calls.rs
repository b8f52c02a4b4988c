//! Calls of etcd's JSON gateway: the members are asked in turn until one answers.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use base64::prelude::{Engine, BASE64_STANDARD};
use serde_json::{json, Value};
use ureq::{Agent, Body};

use crate::access::{no_contact, Access, Secret};
use crate::exit::{Failure, Result, DATA, IO, NO_CONTACT, PERMISSION};

/// How long a call may take. etcd itself gives up a proposal after 7 s.
const CALL: Duration = Duration::from_secs(10);

/// The longest answer that is read: a part of a map has 1.4 MB in JSON, and a list of a thousand
/// hosts less.
const ANSWER: u64 = 64 << 20;

/// A pair of a key and its value.
pub struct Pair {
    /// The key.
    pub key: String,
    /// The value; empty when only keys were asked for.
    pub value: Vec<u8>,
    /// The revision of its last change.
    pub changed: u64,
}

/// Keys and values at one revision of the cluster.
pub struct Found {
    /// The revision.
    pub revision: u64,
    /// The pairs, by key.
    pub pairs: Vec<Pair>,
}

/// A client of one cluster.
pub struct Calls {
    agent: Agent,
    endpoints: Vec<String>,
    /// the member that answered last
    at: Cell<usize>,
    access: Access,
    login: RefCell<Option<(String, Secret)>>,
    token: RefCell<Option<String>>,
}

impl Calls {
    /// Returns a client, without any request.
    pub fn new(endpoints: &[String], access: &Access) -> Result<Calls> {
        let tls = endpoints.iter().any(|url| url.starts_with("https:"));
        Ok(Calls {
            agent: access.agent(tls)?,
            endpoints: endpoints.to_vec(),
            at: Cell::new(0),
            access: access.clone(),
            login: RefCell::new(access.login()?),
            token: RefCell::new(None),
        })
    }

    /// Returns a second client of the same cluster, for another thread.
    pub fn again(&self) -> Calls {
        Calls {
            agent: self.agent.clone(),
            endpoints: self.endpoints.clone(),
            at: self.at.clone(),
            access: self.access.clone(),
            login: self.login.clone(),
            token: self.token.clone(),
        }
    }

    /// Calls a method. The first member that answers decides.
    pub fn call(&self, method: &str, body: &Value) -> Result<Value> {
        let sent = self.send(method, body, |agent, url| {
            agent.post(url).config().timeout_global(Some(CALL)).build()
        })?;
        let mut sent = sent;
        let text = sent
            .with_config()
            .limit(ANSWER)
            .read_to_vec()
            .map_err(|e| away(self.server(), &e))?;
        self.parse(&text)
    }

    /// Opens a stream: the body of the answer, whose lines arrive one by one. `silence` is how long
    /// it may send nothing.
    pub fn stream(&self, method: &str, body: &Value, silence: Duration) -> Result<Body> {
        self.send(method, body, |agent, url| {
            agent
                .post(url)
                .config()
                .timeout_send_request(Some(CALL))
                .timeout_recv_response(Some(CALL))
                .timeout_per_read(Some(silence))
                .build()
        })
    }

    fn send(
        &self,
        method: &str,
        body: &Value,
        request: impl Fn(&Agent, &str) -> ureq::RequestBuilder<ureq::typestate::WithBody>,
    ) -> Result<Body> {
        let bytes = body.to_string().into_bytes();
        let mut last = None;
        let mut renewed = false;
        let mut tries = 0;
        while tries < self.endpoints.len() {
            let server = self.server();
            let token = match self.token() {
                Err(failure) if failure.is_contact() => {
                    last = Some(failure);
                    self.next();
                    tries += 1;
                    continue;
                }
                token => token?,
            };
            let mut asked = request(&self.agent, &format!("{server}/v3/{method}"))
                .header("Content-Type", "application/json");
            if let Some(token) = &token {
                asked = asked.header("Authorization", token);
            }
            let refused = match asked.send(&bytes[..]) {
                Ok(answer) if answer.status() == 200 => return Ok(answer.into_body()),
                Ok(answer) => self.refusal(answer, &key_of(body), right(method)),
                Err(error) => Refusal::Away(away(server, &error)),
            };
            match refused {
                Refusal::Token if !renewed => {
                    renewed = true;
                    self.token.take();
                }
                Refusal::Token => {
                    return Err(Failure::new(
                        PERMISSION,
                        format_args!("{}: etcd takes no token of this user", named(server)),
                    ))
                }
                Refusal::Final(failure) => return Err(failure),
                Refusal::Away(failure) => {
                    last = Some(failure);
                    self.next();
                    tries += 1;
                }
            }
        }
        Err(last.unwrap_or_else(|| Failure::new(NO_CONTACT, "no member of etcd was given")))
    }

    /// Names a key and the member that was asked for it, as they stand in the URL of a hub.
    pub fn at(&self, key: &str) -> String {
        named(self.server()) + key
    }

    /// Reads why a member did not do what it was asked for. The key is that of the request, or
    /// empty, and the right is what the request needs.
    fn refusal(&self, mut answer: ureq::http::Response<Body>, key: &str, right: &str) -> Refusal {
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string().unwrap_or_default();
        let told: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let said = told["message"].as_str().or(told["error"].as_str());
        let said = said.unwrap_or(match text.trim() {
            "" => "no reason given",
            // a page for people, of another kind of server
            page if page.starts_with('<') => "something that is no JSON",
            text => text,
        });
        let line = format!("{}: etcd says: {said}", self.at(key));
        let is = |words: &[&str]| words.iter().any(|word| said.contains(word));
        if is(&["invalid auth token", "revision of auth store is old"])
            && self.login.borrow().is_some()
        {
            return Refusal::Token;
        }
        if is(&["user name is empty", "invalid auth token"]) {
            return Refusal::Final(Failure::new(
                PERMISSION,
                format_args!("{line}; give --user and --password-file"),
            ));
        }
        let login = self.login.borrow();
        let user = login.as_ref().map_or("nobody", |(user, _)| user);
        if is(&["authentication failed"]) {
            return Refusal::Final(Failure::new(
                PERMISSION,
                format_args!("{line}; correct the user {user} or the password"),
            ));
        }
        if is(&["permission denied"]) {
            let below = key.rsplit_once('/').map_or("", |(below, _)| below);
            return Refusal::Final(Failure::new(
                PERMISSION,
                format_args!(
                    "{line}; the user {user} needs a role that may {} what is below {below}/: \
                     `etcdctl role grant-permission ROLE --prefix=true {right} {below}/`; \
                     docs/sync.md says which rights a host and an operator need",
                    match right {
                        "readwrite" => "read and write",
                        right => right,
                    }
                ),
            ));
        }
        if is(&["database space exceeded"]) {
            return Refusal::Final(Failure::new(IO, format_args!(
                "{line}; compact and defragment it, and let it compact by itself: docs/sync.md says how"
            )));
        }
        if is(&["too large"]) {
            return Refusal::Final(Failure::new(
                IO,
                format_args!("{line}; set its --max-request-bytes back to the default"),
            ));
        }
        // what passes by itself: no leader, a timeout, a member that starts
        if status >= 500
            || is(&[
                "etcdserver: no leader",
                "timed out",
                "leader changed",
                "not capable",
                "stopped",
            ])
        {
            return Refusal::Away(Failure::new(NO_CONTACT, line));
        }
        let code = if status == 404 { NO_CONTACT } else { DATA };
        Refusal::Final(Failure::new(
            code,
            format_args!("{line} (status {status}); is this etcd 3.4 or newer?"),
        ))
    }

    fn parse(&self, text: &[u8]) -> Result<Value> {
        serde_json::from_slice(text).map_err(|error| {
            Failure::new(
                NO_CONTACT,
                format_args!(
                    "{}: this is no answer of etcd: {error}",
                    named(self.server())
                ),
            )
        })
    }

    fn server(&self) -> &str {
        &self.endpoints[self.at.get() % self.endpoints.len()]
    }

    fn next(&self) {
        self.at.set((self.at.get() + 1) % self.endpoints.len());
    }

    /// Returns the token of the user, and logs in where there is none yet.
    fn token(&self) -> Result<Option<String>> {
        let Some(login) = self.login.borrow().clone() else {
            return Ok(None);
        };
        if let Some(token) = &*self.token.borrow() {
            return Ok(Some(token.clone()));
        }
        let token = match self.log_in(&login) {
            Err(failure) if failure.code == PERMISSION => {
                // the password was changed, in the file as well
                let Some(login) = self.access.changed_login(&login) else {
                    return Err(failure);
                };
                self.login.replace(Some(login.clone()));
                self.log_in(&login)
            }
            token => token,
        }?;
        self.token.replace(token.clone());
        Ok(token)
    }

    fn log_in(&self, (user, password): &(String, Secret)) -> Result<Option<String>> {
        let server = self.server();
        let asked = self.agent.post(format!("{server}/v3/auth/authenticate"));
        let body = json!({"name": user, "password": password.reveal()}).to_string();
        let answer = asked
            .config()
            .timeout_global(Some(CALL))
            .build()
            .header("Content-Type", "application/json")
            .send(body.as_bytes());
        let mut answer = match answer {
            Ok(answer) if answer.status() == 200 => answer,
            Ok(answer) => {
                return match self.refusal(answer, "", "read") {
                    Refusal::Final(failure) | Refusal::Away(failure) => Err(failure),
                    Refusal::Token => Err(Failure::new(
                        PERMISSION,
                        format_args!("{}: etcd refuses the user", named(server)),
                    )),
                }
            }
            Err(error) => return Err(away(server, &error)),
        };
        let text = answer
            .body_mut()
            .read_to_vec()
            .map_err(|e| away(server, &e))?;
        Ok(self.parse(&text)?["token"].as_str().map(str::to_owned))
    }

    /// Reads the keys that begin with `start`, or only `start` itself. Without `values`, only keys.
    pub fn range(&self, start: &str, is_prefix: bool, values: bool) -> Result<Found> {
        let answer = self.call("kv/range", &range(start, is_prefix, values))?;
        found(&answer, number(&answer["header"]["revision"]))
    }

    /// Writes a value, under a lease if there is one.
    pub fn put(&self, key: &str, value: &[u8], lease: Option<u64>) -> Result {
        self.call("kv/put", &put(key, value, lease)["request_put"])
            .map(|_| ())
    }

    /// Makes all of `then` happen if all of `compare` hold. Returns whether they held, and the
    /// answers.
    pub fn transaction(&self, compare: &[Value], then: &[Value]) -> Result<(bool, Value)> {
        let answer = self.call("kv/txn", &json!({"compare": compare, "success": then}))?;
        Ok((answer["succeeded"] == true, answer))
    }

    /// Grants a lease.
    pub fn lease(&self, seconds: u64) -> Result<u64> {
        let answer = self.call("lease/grant", &json!({"TTL": seconds.to_string()}))?;
        Ok(number(&answer["ID"]))
    }

    /// Renews a lease. Returns whether it was still there.
    pub fn renew(&self, lease: u64) -> Result<bool> {
        let answer = self.call("lease/keepalive", &json!({"ID": lease.to_string()}))?;
        Ok(number(&answer["result"]["TTL"]) > 0)
    }

    /// Ends a lease, and removes its keys.
    pub fn revoke(&self, lease: u64) -> Result {
        self.call("lease/revoke", &json!({"ID": lease.to_string()}))
            .map(|_| ())
    }
}

/// Why a member did not do what it was asked for.
enum Refusal {
    /// The token is no longer good.
    Token,
    /// Another member would say the same.
    Final(Failure),
    /// It cannot now.
    Away(Failure),
}

/// Encodes a key or value for JSON.
pub fn encoded(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Returns the first key that does not begin with this text.
pub fn behind(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    // our prefixes end with a slash
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

/// A request for keys.
pub fn range(start: &str, is_prefix: bool, values: bool) -> Value {
    let mut asked = json!({"key": encoded(start.as_bytes()), "keys_only": !values});
    if is_prefix {
        asked["range_end"] = encoded(&behind(start)).into();
    }
    asked
}

/// A request that writes a value, as a part of a transaction.
pub fn put(key: &str, value: &[u8], lease: Option<u64>) -> Value {
    let mut asked = json!({"key": encoded(key.as_bytes()), "value": encoded(value)});
    if let Some(lease) = lease {
        asked["lease"] = lease.to_string().into();
    }
    json!({"request_put": asked})
}

/// A request that removes keys, as a part of a transaction.
pub fn delete(start: &str, is_prefix: bool) -> Value {
    let mut asked = range(start, is_prefix, true);
    if let Some(asked) = asked.as_object_mut() {
        asked.remove("keys_only");
    }
    json!({"request_delete_range": asked})
}

/// The condition that a key was changed last at this revision; 0 means that it is not there.
pub fn unchanged(key: &str, revision: u64) -> Value {
    match revision {
        0 => {
            json!({"key": encoded(key.as_bytes()), "target": "CREATE", "result": "EQUAL", "create_revision": "0"})
        }
        n => {
            json!({"key": encoded(key.as_bytes()), "target": "MOD", "result": "EQUAL", "mod_revision": n.to_string()})
        }
    }
}

/// The condition that a key is there.
pub fn exists(key: &str) -> Value {
    json!({"key": encoded(key.as_bytes()), "target": "CREATE", "result": "GREATER", "create_revision": "0"})
}

/// Returns the right that a method needs, as etcdctl calls it.
fn right(method: &str) -> &'static str {
    match method {
        "kv/range" | "watch" => "read",
        "kv/txn" => "readwrite",
        _ => "write",
    }
}

/// Returns the first key that a request names; empty if it names none, as one for a lease.
fn key_of(body: &Value) -> String {
    let compared = body["compare"].get(0).map(|first| &first["key"]);
    let then = || {
        let asked = body["success"].get(0)?.as_object()?.values().next()?;
        Some(&asked["key"])
    };
    let watched = &body["create_request"]["key"];
    let key = compared.or_else(then).or(Some(watched));
    let key = body["key"].as_str().or(key.and_then(Value::as_str));
    let bytes = BASE64_STANDARD.decode(key.unwrap_or_default());
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Returns the member as it stands in the URL of a hub: `etcd://` and not `http://`.
fn named(server: &str) -> String {
    let https = server.strip_prefix("https://");
    match (https, server.strip_prefix("http://")) {
        (Some(host), _) => format!("etcds://{host}"),
        (None, Some(host)) => format!("etcd://{host}"),
        (None, None) => server.to_owned(),
    }
}

/// Returns the failure to reach a member.
fn away(server: &str, error: &ureq::Error) -> Failure {
    let failure = no_contact(server, error);
    let line = failure.line.replacen(server, &named(server), 1);
    Failure::new(failure.code, line)
}

/// The condition that no key with this prefix was created after a revision.
pub fn none_since(prefix: &str, revision: u64) -> Value {
    json!({
        "key": encoded(prefix.as_bytes()),
        "range_end": encoded(&behind(prefix)),
        "target": "CREATE",
        "result": "LESS",
        "create_revision": (revision + 1).to_string(),
    })
}

/// Reads a number, which JSON has as text. A number that is not there is 0.
pub fn number(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.parse().unwrap_or(0),
        value => value.as_u64().unwrap_or(0),
    }
}

/// Reads the pairs of an answer.
pub fn found(answer: &Value, revision: u64) -> Result<Found> {
    let mut pairs = Vec::new();
    for pair in answer["kvs"].as_array().into_iter().flatten() {
        let bytes = |name: &str| BASE64_STANDARD.decode(pair[name].as_str().unwrap_or_default());
        let (Ok(key), Ok(value)) = (bytes("key"), bytes("value")) else {
            return Err(Failure::new(
                DATA,
                "etcd answers with a value that is not base64",
            ));
        };
        pairs.push(Pair {
            key: String::from_utf8_lossy(&key).into_owned(),
            value,
            changed: number(&pair["mod_revision"]),
        });
    }
    Ok(Found { revision, pairs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_as_in_the_url() {
        let refused = || ureq::Error::Io(std::io::ErrorKind::ConnectionRefused.into());
        for (server, wanted) in [
            ("http://h:1", "etcd://h:1: "),
            ("https://h:1", "etcds://h:1: "),
        ] {
            let failure = away(server, &refused());
            assert!(
                failure.is_contact() && failure.line.starts_with(wanted),
                "{failure:?}"
            );
        }
    }
}
