//! The command of `--exec`: it runs after each installation, and has a limited time.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{kill_process_group, Pid, Signal};

/// The variable of the password, which is not handed on.
pub const PASSWORD: &str = "STEAD_SYNC_PASSWORD";

/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a command in the shell, with these variables. Meanwhile `tick` is called once a second.
///
/// Errors: why it did not succeed. A command that takes longer than `limit` is killed, with what it
/// started.
pub fn run(
    command: &str,
    variables: &[(&str, String)],
    limit: Duration,
    tick: &mut dyn FnMut(),
) -> Result<(), String> {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    shell.envs(variables.iter().map(|(name, value)| (name, value)));
    // the command may be anything, and others can read the environment of what it starts
    shell.env_remove(PASSWORD);
    shell.process_group(0);
    let mut child = shell
        .spawn()
        .map_err(|e| format!("--exec: cannot start /bin/sh: {e}"))?;
    let began = Instant::now();
    let mut ticked = began;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("--exec: the command {}", ended(status))),
            Ok(None) => {}
            Err(error) => return Err(format!("--exec: {error}")),
        }
        if began.elapsed() >= limit {
            kill(&mut child);
            return Err(format!(
                "--exec: the command took longer than {} s and was killed",
                limit.as_secs()
            ));
        }
        std::thread::sleep(LOOK);
        if ticked.elapsed() >= Duration::from_secs(1) {
            ticked = Instant::now();
            tick();
        }
    }
}

fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exits with {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_variables_and_its_end_is_told() {
        let run = |text: &str, limit| {
            let epoch = [("STEAD_SYNC_EPOCH", "7".to_owned())];
            super::run(text, &epoch, limit, &mut || {})
        };
        let long = Duration::from_secs(600);
        assert_eq!(run("test $STEAD_SYNC_EPOCH = 7", long), Ok(()));
        assert!(run("exit 3", long).unwrap_err().ends_with("exits with 3"));
        assert!(run("kill -9 $$", long).unwrap_err().ends_with("signal 9"));
        assert!(run("sleep 999", Duration::from_millis(1))
            .unwrap_err()
            .contains("killed"));
    }
}
