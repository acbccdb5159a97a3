package lab

// minCPUs is the least that a host's cpus may be: with a period of 10 ms, the
// kernel's least quota of 1 ms (min_cfs_quota_period, kernel/sched/core.c).
const minCPUs = 0.1
