//! Refuses a Python that cannot import the module. pyo3 would do that, but .cargo/config.toml
//! prevents it from running any Python.

use std::process::Command;

/// Prints `1` in a free-threaded Python, whose objects have another layout.
const QUESTION: &str = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    // set by maturin, and so by pip; checking or linting the code needs no Python
    let Some(python) = std::env::var_os("PYO3_PYTHON") else {
        return;
    };
    let asked = Command::new(&python).args(["-I", "-c", QUESTION]).output();
    if asked.is_ok_and(|said| said.stdout.trim_ascii() == b"1") {
        println!(
            "cargo::error={} is a free-threaded Python, which stead's module does not support; \
             use the build with the GIL (python3.13, not python3.13t)",
            python.to_string_lossy()
        );
    }
}
