//! Options for linking the shared library: its soname, so that programs run with every later
//! libstead.so.1, and what a library in a server needs.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstead.so.1");
    // servers load this library: no lazy binding, no writable tables of addresses
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    // The library's cache of open maps belongs to the process. PHP unloads a library at the end of
    // each request (FFI::cdef), and each time would lose the cache and the maps open in it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
