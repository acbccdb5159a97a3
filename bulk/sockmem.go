package bulk

import "encoding/binary"

// ParseSockMem reads the answer to SO_MEMINFO: 32-bit words in the order of
// SK_MEMINFO_* (include/uapi/linux/sock_diag.h), as many as the kernel has.
func ParseSockMem(raw []byte) SockMem {
	word := func(i int) int {
		if len(raw) < 4*i+4 {
			return 0
		}
		return int(binary.NativeEndian.Uint32(raw[4*i:]))
	}
	return SockMem{
		RecvAlloc: word(0), RecvBuf: word(1),
		SendAlloc: word(2), SendBuf: word(3), SendQueued: word(5),
		Backlog: word(7), Drops: word(8),
	}
}
