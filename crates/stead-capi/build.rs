//! Gives the shared library its soname: programs keep running with every later libstead.so.1.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstead.so.1");
    // a library that is loaded into servers: no lazy binding, no writable tables of addresses
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,relro,-z,now");
}
