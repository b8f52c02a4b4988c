//! How the shared library is linked: its soname, so that programs keep running with every later
//! libstead.so.1, and what servers need.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstead.so.1");
    // a library that is loaded into servers: no lazy binding, no writable tables of addresses
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
    // its cache of open maps belongs to the process. PHP unloads a library at the end of each
    // request (FFI::cdef), and would lose the cache, and what is open in it, each time
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
