// Asks JavaScript's clients where keys live: `node javascript.js MODE` or `node javascript.js MODE version`; clients.py describes input and output.

"use strict";

const fs = require("fs");
const path = require("path");

// mode: the package, and a function that takes it and the servers and returns a function for one key
const modes = {
    hashring: ["hashring", (HashRing, servers) => { const ring = new HashRing(servers); return (key) => ring.get(key); }],
    memcached: ["memcached", (Memcached, servers) => { const client = new Memcached(servers); return (key) => client.HashRing.get(key); }],
    memjs: ["memjs", ({ Client }, servers) => { const client = Client.create(servers.join(",")); return (key) => { const { host, port } = client.server(key); return `${host}:${port}`; }; }],
    ketama: ["ketama", ({ HashRing }, servers) => { const ring = new HashRing(servers); return (key) => ring.getNode(key); }],
    "consistent-hash": ["consistent-hash", (ConsistentHash, servers) => {
        const ring = new ConsistentHash();
        servers.forEach((server) => ring.add(server));
        return (key) => ring.get(key);
    }],
};

const [mode, version] = process.argv.slice(2);
const [name, make] = modes[mode];
let module_;
try {
    module_ = require(name);
} catch (why) {
    process.stderr.write(`JavaScript's ${name} cannot be loaded: ${why.message.split("\n")[0]}\n`);
    process.exit(77);
}
if (version) {
    // not require: a package may not export its package.json
    let folder = path.dirname(require.resolve(name));
    while (!fs.existsSync(path.join(folder, "package.json")) || path.basename(folder) !== name) folder = path.dirname(folder);
    console.log(JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).version);
    process.exit(0);
}
const text = fs.readFileSync(0, "utf8");
const at = text.indexOf("\n\n");
const where = make(module_, text.slice(0, at).split("\n"));
const keys = text.slice(at + 2).replace(/\n$/, "").split("\n");
fs.writeSync(1, keys.map(where).join("\n") + "\n");
process.exit(0);
