//! Properties of the machine: processor, instruction set, memory and processor time.

use std::time::Duration;

/// Instruction set for which kernels are chosen at run time. The same binary computes the same bits
/// on the same set.
#[must_use]
pub fn instruction_set() -> String {
    let architecture = std::env::consts::ARCH;
    match widest_vectors() {
        "" => architecture.to_owned(),
        features => format!("{architecture}+{features}"),
    }
}

#[cfg(target_arch = "x86_64")]
fn widest_vectors() -> &'static str {
    if is_x86_feature_detected!("avx512f") {
        "avx512"
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        "avx2"
    } else {
        ""
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn widest_vectors() -> &'static str {
    ""
}

/// Model of the processor, if the system provides it.
#[must_use]
pub fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Peak resident memory of this process (bytes), if the system provides it.
#[must_use]
pub fn peak_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Processor time of all threads of this process, if the system provides it.
#[cfg(unix)]
#[must_use]
pub fn processor_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(
        u64::try_from(time.tv_sec).ok()?,
        u32::try_from(time.tv_nsec).ok()?,
    ))
}

/// Processor time of all threads of this process, if the system provides it.
#[cfg(not(unix))]
#[must_use]
pub fn processor_time() -> Option<Duration> {
    None
}
