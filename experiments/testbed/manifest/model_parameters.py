# SPDX-License-Identifier: BSD-3-Clause
"""Made by `python -m testbed.build.parameter_tables` from the model's rows: change those, not this."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CpuParameters:
    """The parameters that `-object cpu-timing` accepts."""

    l1d_size: int
    l1d_ways: int
    l2_size: int
    l2_ways: int
    l2_latency_ps: int
    llc_size: int
    llc_ways: int
    llc_latency_ps: int
    dram_latency_ps: int
    dram_bandwidth: int
    wc_buffers: int
    cores: int = 1
    fill_buffers: int = 10
    store_buffer: int = 56
    overlap: str = "none"
    overlap_window_ps: int = 0
    prefetch_streams: int = 0
    prefetch_distance: int = 20
    prefetch_degree: int = 2
    prefetch_buffers: int = 16
    l2_requests: int = 16
    clwb_keeps_line: bool = True
    c2c_ps: int = 0
    upgrade_ps: int = 0
    ipi_ps: int = 0
    lock_ps: int = 0
    pause_ps: int = 0
    cpuid_ps: int = 0
    rdmsr_ps: int = 0
    wrmsr_ps: int = 0
    mov_cr_ps: int = 0
    mov_cr3_ps: int = 0
    mov_dr_ps: int = 0
    invlpg_ps: int = 0
    load_table_ps: int = 0
    iret_ps: int = 0
    rdtsc_ps: int = 0
    wbinvd_ps: int = 0
    seed: int = 0


@dataclass(frozen=True)
class DeviceParameters:
    """The parameters that `-device cxl-ssd` accepts."""

    link_latency_ps: int
    link_read_bandwidth: int
    link_write_bandwidth: int
    controller_latency_ps: int
    cache_latency_ps: int
    flash_channels: int
    volatile_size: int = 0
    link_flit_bytes: int = 0
    link_multi_header: bool = True
    write_queue: int = 0
    controller_interval_ps: int = 0
    hot_pages: int = 0
    cache_size: int = 0
    cache_page_size: int = 4096
    cache_ways: int = 0
    cache_tag_ps: int = 0
    cache_refresh_ps: int = 0
    cache_refresh_interval_ps: int = 0
    cache_refresh_groups: int = 1
    cache_bandwidth: int = 0
    cache_policy: str = "lru"
    cache_seed: int = 1
    cache_write: str = "back"
    cache_write_miss: str = "fetch"
    write_log_size: int = 0
    cache_mshrs: int = 0
    cache_prefetch: str = "none"
    cache_prefetch_pages: int = 1
    cache_power_loss_protected: bool = True
    flash_dies: int = 1
    flash_planes: int = 1
    flash_read_ps: int = 0
    flash_program_ps: int = 0
    flash_erase_ps: int = 0
    flash_channel_bandwidth: int = 0
    flash_suspend: bool = False
    flash_suspend_ps: int = 0
    flash_ftl: str = "none"
    flash_block_pages: int = 256
    flash_over_provisioning_permille: int = 70
    flash_gc: str = "greedy"
    flash_gc_free_blocks: int = 2
    flash_endurance_cycles: int = 0
    flash_worn_cycles: int = 0
    flash_read_errors: int = 0
    flash_read_errors_seed: int = 1
    persist_domain: str = "adr"
    gpf_energy_uj: int = 0
    gpf_line_nj: int = 0
    gpf_page_nj: int = 0
    cut_lines: str = "lost"
    cut_seed: int = 1
    wbarrier_latency_ps: int = 0


TYPES: dict[str, str] = {
    "l1d_size": "size",
    "l1d_ways": "count",
    "l2_size": "size",
    "l2_ways": "count",
    "l2_latency_ps": "time",
    "llc_size": "size",
    "llc_ways": "count",
    "llc_latency_ps": "time",
    "cores": "count",
    "dram_latency_ps": "time",
    "dram_bandwidth": "bandwidth",
    "wc_buffers": "count",
    "fill_buffers": "count",
    "store_buffer": "count",
    "overlap": "choice",
    "overlap_window_ps": "time",
    "prefetch_streams": "count",
    "prefetch_distance": "count",
    "prefetch_degree": "count",
    "prefetch_buffers": "count",
    "l2_requests": "count",
    "clwb_keeps_line": "bool",
    "c2c_ps": "time",
    "upgrade_ps": "time",
    "ipi_ps": "time",
    "lock_ps": "time",
    "pause_ps": "time",
    "cpuid_ps": "time",
    "rdmsr_ps": "time",
    "wrmsr_ps": "time",
    "mov_cr_ps": "time",
    "mov_cr3_ps": "time",
    "mov_dr_ps": "time",
    "invlpg_ps": "time",
    "load_table_ps": "time",
    "iret_ps": "time",
    "rdtsc_ps": "time",
    "wbinvd_ps": "time",
    "seed": "count",
    "volatile_size": "size",
    "link_latency_ps": "time",
    "link_read_bandwidth": "bandwidth",
    "link_write_bandwidth": "bandwidth",
    "link_flit_bytes": "count",
    "link_multi_header": "bool",
    "write_queue": "count",
    "controller_latency_ps": "time",
    "controller_interval_ps": "time",
    "hot_pages": "count",
    "cache_size": "size",
    "cache_page_size": "size",
    "cache_ways": "count",
    "cache_latency_ps": "time",
    "cache_tag_ps": "time",
    "cache_refresh_ps": "time",
    "cache_refresh_interval_ps": "time",
    "cache_refresh_groups": "count",
    "cache_bandwidth": "bandwidth",
    "cache_policy": "choice",
    "cache_seed": "count",
    "cache_write": "choice",
    "cache_write_miss": "choice",
    "write_log_size": "size",
    "cache_mshrs": "count",
    "cache_prefetch": "choice",
    "cache_prefetch_pages": "count",
    "cache_power_loss_protected": "bool",
    "flash_channels": "count",
    "flash_dies": "count",
    "flash_planes": "count",
    "flash_read_ps": "time",
    "flash_program_ps": "time",
    "flash_erase_ps": "time",
    "flash_channel_bandwidth": "bandwidth",
    "flash_suspend": "bool",
    "flash_suspend_ps": "time",
    "flash_ftl": "choice",
    "flash_block_pages": "count",
    "flash_over_provisioning_permille": "count",
    "flash_gc": "choice",
    "flash_gc_free_blocks": "count",
    "flash_endurance_cycles": "count",
    "flash_worn_cycles": "count",
    "flash_read_errors": "count",
    "flash_read_errors_seed": "count",
    "persist_domain": "choice",
    "gpf_energy_uj": "energy",
    "gpf_line_nj": "energy",
    "gpf_page_nj": "energy",
    "cut_lines": "choice",
    "cut_seed": "count",
    "wbarrier_latency_ps": "time",
}

KEYS: dict[str, str] = {
    "l2_latency_ps": "l2_latency",
    "llc_latency_ps": "llc_latency",
    "dram_latency_ps": "dram_latency",
    "overlap_window_ps": "overlap_window",
    "c2c_ps": "c2c",
    "upgrade_ps": "upgrade",
    "ipi_ps": "ipi",
    "lock_ps": "lock",
    "pause_ps": "pause",
    "cpuid_ps": "cpuid",
    "rdmsr_ps": "rdmsr",
    "wrmsr_ps": "wrmsr",
    "mov_cr_ps": "mov_cr",
    "mov_cr3_ps": "mov_cr3",
    "mov_dr_ps": "mov_dr",
    "invlpg_ps": "invlpg",
    "load_table_ps": "load_table",
    "iret_ps": "iret",
    "rdtsc_ps": "rdtsc",
    "wbinvd_ps": "wbinvd",
    "link_latency_ps": "link_latency",
    "controller_latency_ps": "controller_latency",
    "controller_interval_ps": "controller_interval",
    "cache_latency_ps": "cache_latency",
    "cache_tag_ps": "cache_tag",
    "cache_refresh_ps": "cache_refresh",
    "cache_refresh_interval_ps": "cache_refresh_interval",
    "flash_read_ps": "flash_read",
    "flash_program_ps": "flash_program",
    "flash_erase_ps": "flash_erase",
    "gpf_energy_uj": "gpf_energy",
    "gpf_line_nj": "gpf_line",
    "gpf_page_nj": "gpf_page",
    "wbarrier_latency_ps": "wbarrier_latency",
}

FIELDS: dict[str, str] = {
    "l1d.size_bytes": "l1d_size",
    "l1d.ways": "l1d_ways",
    "l2.size_bytes": "l2_size",
    "l2.ways": "l2_ways",
    "l2.latency_ps": "l2_latency_ps",
    "llc.size_bytes": "llc_size",
    "llc.ways": "llc_ways",
    "llc.latency_ps": "llc_latency_ps",
    "volatile_bytes": "volatile_size",
    "cache_size_bytes": "cache_size",
    "cache_page_bytes": "cache_page_size",
    "write_log_bytes": "write_log_size",
}

CHOICES: dict[str, tuple[str, ...]] = {
    "overlap": ("none", "streams", "all"),
    "cache_policy": ("lru", "fifo", "clock", "2q", "s3-fifo", "random"),
    "cache_write": ("back", "through"),
    "cache_write_miss": ("fetch", "no-fetch", "log"),
    "cache_prefetch": ("none", "next", "stride"),
    "flash_ftl": ("none", "page"),
    "flash_gc": ("greedy", "cost-benefit"),
    "persist_domain": ("none", "adr", "eadr", "gpf"),
    "cut_lines": ("lost", "kept", "seeded"),
}

CHANGES: dict[str, str] = {
    "l1d_size": "fixed",
    "l1d_ways": "fixed",
    "l2_size": "fixed",
    "l2_ways": "fixed",
    "l2_latency_ps": "fixed",
    "llc_size": "fixed",
    "llc_ways": "fixed",
    "llc_latency_ps": "fixed",
    "cores": "fixed",
    "dram_latency_ps": "replay",
    "dram_bandwidth": "replay",
    "wc_buffers": "fixed",
    "fill_buffers": "replay",
    "store_buffer": "fixed",
    "overlap": "fixed",
    "overlap_window_ps": "replay",
    "prefetch_streams": "fixed",
    "prefetch_distance": "fixed",
    "prefetch_degree": "fixed",
    "prefetch_buffers": "replay",
    "l2_requests": "replay",
    "clwb_keeps_line": "fixed",
    "c2c_ps": "fixed",
    "upgrade_ps": "fixed",
    "ipi_ps": "fixed",
    "lock_ps": "fixed",
    "pause_ps": "fixed",
    "cpuid_ps": "fixed",
    "rdmsr_ps": "fixed",
    "wrmsr_ps": "fixed",
    "mov_cr_ps": "fixed",
    "mov_cr3_ps": "fixed",
    "mov_dr_ps": "fixed",
    "invlpg_ps": "fixed",
    "load_table_ps": "fixed",
    "iret_ps": "fixed",
    "rdtsc_ps": "fixed",
    "wbinvd_ps": "fixed",
    "seed": "fixed",
    "volatile_size": "fixed",
    "link_latency_ps": "live",
    "link_read_bandwidth": "live",
    "link_write_bandwidth": "live",
    "link_flit_bytes": "live",
    "link_multi_header": "live",
    "write_queue": "replay",
    "controller_latency_ps": "live",
    "controller_interval_ps": "live",
    "hot_pages": "replay",
    "cache_size": "replay",
    "cache_page_size": "replay",
    "cache_ways": "replay",
    "cache_latency_ps": "live",
    "cache_tag_ps": "live",
    "cache_refresh_ps": "live",
    "cache_refresh_interval_ps": "live",
    "cache_refresh_groups": "live",
    "cache_bandwidth": "live",
    "cache_policy": "live",
    "cache_seed": "replay",
    "cache_write": "live",
    "cache_write_miss": "live",
    "write_log_size": "replay",
    "cache_mshrs": "live",
    "cache_prefetch": "live",
    "cache_prefetch_pages": "live",
    "cache_power_loss_protected": "replay",
    "flash_channels": "replay",
    "flash_dies": "replay",
    "flash_planes": "replay",
    "flash_read_ps": "live",
    "flash_program_ps": "live",
    "flash_erase_ps": "live",
    "flash_channel_bandwidth": "live",
    "flash_suspend": "live",
    "flash_suspend_ps": "live",
    "flash_ftl": "replay",
    "flash_block_pages": "replay",
    "flash_over_provisioning_permille": "replay",
    "flash_gc": "replay",
    "flash_gc_free_blocks": "replay",
    "flash_endurance_cycles": "replay",
    "flash_worn_cycles": "replay",
    "flash_read_errors": "replay",
    "flash_read_errors_seed": "replay",
    "persist_domain": "replay",
    "gpf_energy_uj": "replay",
    "gpf_line_nj": "replay",
    "gpf_page_nj": "replay",
    "cut_lines": "replay",
    "cut_seed": "replay",
    "wbarrier_latency_ps": "live",
}
