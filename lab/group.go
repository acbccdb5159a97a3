package lab

// minCPUs is the least that a host's cpus may be: with the kernel's least quota
// of 1 ms (min_cfs_quota_period, kernel/sched/core.c) that makes a period of
// 50 ms, half of what containers get by default. Below it a host is so often
// asleep that protocols time out.
const minCPUs = 0.02
