//! Tells the kernels (src/kernel) which instructions this rustc knows.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(stead_avx512)");
    autocfg::rerun_path("build.rs");
    if autocfg::new().probe_rustc_version(1, 89) {
        autocfg::emit("stead_avx512");
    }
}
