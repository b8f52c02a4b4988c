//! Refuses a Python that the module cannot be imported by. pyo3 would, but .cargo/config.toml keeps
//! it from asking any Python.

use std::process::Command;

/// Prints `1` in a free-threaded Python, whose objects are laid out otherwise.
const QUESTION: &str = "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    // set by maturin, and so by pip; to check or lint the code no Python is needed
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
