package iperf3

import "fmt"

// Number is what iperf3 calls i_errno: what went wrong, as it travels. Up to 99
// are wrong options, from 100 failures, from 200 of streams, from 300 of timers.
type Number int32

// The numbers that a server has a use for.
const (
	IEDuration                      Number = 5
	IENumStreams                    Number = 6
	IEBlockSize                     Number = 7
	IEBufSize                       Number = 8
	IEMSS                           Number = 10
	IEOmit                          Number = 12
	IEUnimp                         Number = 13
	IEBurst                         Number = 15
	IENoSCTP                        Number = 18
	IEUDPBlockSize                  Number = 20
	IEBadTOS                        Number = 21
	IEReverseBidir                  Number = 25
	IETotalRate                     Number = 27
	IEMaxServerTestDurationExceeded Number = 37
	IEInitTest                      Number = 101
	IECtrlClose                     Number = 109
	IEMessage                       Number = 110
	IERecvParams                    Number = 114
	IERecvResults                   Number = 117
	IEServerTerm                    Number = 120
	IESetFlow                       Number = 127
	IEProtocol                      Number = 131
	IEAffinity                      Number = 132
	IESetCongestion                 Number = 134
	IESetBuf2                       Number = 141
	IEAuthTest                      Number = 142
	IENoMsg                         Number = 144
	IEServerTestDurationExpired     Number = 160
	IECreateStream                  Number = 200
	IEStreamListen                  Number = 202
	IEStreamAccept                  Number = 204
	IEStreamWrite                   Number = 205
	IEStreamRead                    Number = 206
	IEStreamClose                   Number = 207
	IEStreamID                      Number = 208
)

// numberTexts are iperf3's words. Numbers were only added over the versions, but
// for 155: in 3.18 that was what is 159 since. Limits named here are those of
// the newest version, as iperf3's own client shows them too.
var numberTexts = map[Number]string{
	0:   "no error",
	1:   "cannot be both server and client",
	2:   "must either be a client (-c) or server (-s)",
	3:   "some option you are trying to set is server only",
	4:   "some option you are trying to set is client only",
	5:   "test duration valid values are 0 to 86400 seconds",
	6:   "invalid number of parallel streams (min = 1, max = 128)",
	7:   "block size too large (maximum = 1048576 bytes)",
	8:   "socket buffer size too large (maximum = 536870912 bytes)",
	9:   "invalid report interval (min = 0.1, max = 60 seconds)",
	10:  "TCP MSS too large (maximum = 32767 bytes)",
	11:  "this OS does not support sendfile",
	12:  "bogus value for --omit (maximum = 600 seconds)",
	13:  "an option you are trying to set is not implemented yet",
	14:  "unable to open -F file",
	15:  "invalid burst count (maximum = 1000)",
	16:  "only one test end condition (-t, -n, -k) may be specified",
	17:  "unable to open log file",
	18:  "no SCTP support available",
	19:  "--bind must be specified to use --cport",
	20:  "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
	21:  "bad TOS value (must be between 0 and 255 inclusive)",
	22:  "you must specify a username, password, and path to a valid RSA public key",
	23:  "you must specify a path to a valid RSA private key and a user credential file",
	24:  "bad format specifier (valid formats are in the set [kmgtKMGT])",
	25:  "cannot be both reverse and bidirectional",
	26:  "port number must be between 1 and 65535 inclusive",
	27:  "total required bandwidth is larger than server limit",
	28:  "invalid time interval for calculating average data rate",
	29:  "skew threshold must be a positive number",
	30:  "idle timeout parameter is not positive or larger than allowed limit",
	31:  "receive timeout value is incorrect or not in range",
	32:  "client receive timeout is valid only in receiving mode",
	33:  "send timeout value is incorrect or not in range",
	34:  "cannot transfer file using UDP",
	35:  "cannot access authorized users file",
	36:  "control connection Keepalive period should be larger than the full retry period (interval * count)",
	37:  "client's requested duration exceeds the server's maximum permitted limit",
	38:  "invalid unit value or suffix",
	39:  "this OS does not support --skip-rx-copy",
	40:  "bad DSCP value (numeric: 0-63 inclusive, symbolic: one of [af11-13, af21-23, af31-33, af41-43, cs1-7, ef, va, lowdelay, throughput, reliability])",
	100: "unable to create a new test",
	101: "test initialization failed",
	102: "unable to start listener for connections",
	103: "unable to connect to server - server may have stopped running or use a different port, firewall issue, etc.",
	104: "unable to accept connection from client",
	105: "unable to send cookie to server",
	106: "unable to receive cookie at server",
	107: "unable to write to the control socket",
	108: "unable to read from the control socket",
	109: "control socket has closed unexpectedly",
	110: "received an unknown control message (ensure other side is iperf3 and not iperf)",
	111: "unable to send control message - port may not be available, the other side may have stopped running, etc.",
	112: "unable to receive control message - port may not be available, the other side may have stopped running, etc.",
	113: "unable to send parameters to server",
	114: "unable to receive parameters from client",
	115: "unable to package results",
	116: "unable to send results",
	117: "unable to receive results",
	118: "select failed",
	119: "the client has terminated",
	120: "the server has terminated",
	121: "the server is busy running a test. try again later",
	122: "unable to set TCP/SCTP NODELAY",
	123: "unable to set TCP/SCTP MSS",
	124: "unable to set socket buffer size",
	125: "unable to set IP TOS",
	126: "unable to set IPv6 traffic class",
	127: "unable to set IPv6 flow label",
	128: "unable to reuse address on socket",
	129: "unable to set socket to non-blocking",
	130: "unable to set socket window size",
	131: "protocol does not exist",
	132: "unable to set CPU affinity",
	133: "unable to become a daemon",
	134: "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host",
	135: "unable to write PID file",
	136: "Unable to set/reset IPV6_V6ONLY",
	137: "unable to set SCTP_DISABLE_FRAGMENTS",
	138: "unable to set SCTP_INIT num of SCTP streams",
	139: "unable to process sctp_bindx() parameters",
	140: "unable to set socket pacing",
	141: "socket buffer size not set correctly",
	142: "test authorization failed",
	143: "Unable to bind-to-device (check perror, maybe permissions?)",
	144: "idle timeout for receiving data",
	145: "unable to set IP Do-Not-Fragment flag",
	146: "`<ip>%<dev>` is not supported as system does not support bind to device",
	147: "host device name (ip%<dev>) is supported (and required) only for IPv6 link-local address",
	148: "unable to set TCP USER_TIMEOUT",
	150: "unable to create thread",
	151: "unable to cancel thread",
	152: "unable to join thread",
	153: "unable to create thread attributes",
	154: "unable to destroy thread attributes",
	155: "unable to set socket keepalive (SO_KEEPALIVE) option",
	156: "unable to set socket keepalive TCP period (TCP_KEEPIDLE) option",
	157: "unable to set/get socket keepalive TCP retry interval (TCP_KEEPINTVL) option",
	158: "unable to set/get socket keepalive TCP number of retries (TCP_KEEPCNT) option",
	159: "unable to change mask of blocked signals",
	160: "server test duration expired",
	200: "unable to create a new stream",
	201: "unable to initialize stream",
	202: "unable to start stream listener",
	203: "unable to connect stream",
	204: "unable to accept stream connection",
	205: "unable to write to stream socket",
	206: "unable to read from stream socket",
	207: "stream socket has closed unexpectedly",
	208: "stream has an invalid id",
	300: "unable to create new timer",
	301: "unable to update timer",
}

// String is iperf3's text, or the number.
func (n Number) String() string {
	if text, ok := numberTexts[n]; ok {
		return text
	}
	return fmt.Sprintf("iperf3 error %d", int32(n))
}
