package iperf3

import "fmt"

// State is one byte on the control connection: what comes next, or what went
// wrong. Several can arrive in one segment.
type State int8

// The states that travel.
const (
	TestStart       State = 1  // S to C
	TestRunning     State = 2  // S to C
	TestEnd         State = 4  // C to S
	ParamExchange   State = 9  // S to C
	CreateStreams   State = 10 // S to C
	ServerTerminate State = 11 // S to C: the server was stopped
	ClientTerminate State = 12 // C to S: the client was stopped
	ExchangeResults State = 13 // S to C
	DisplayResults  State = 14 // S to C
	IperfDone       State = 16 // C to S
	AccessDenied    State = -1 // S to C: busy, or a wrong cookie
	ServerError     State = -2 // S to C; two int32 follow: iperf3's error number and errno
)

var stateNames = map[State]string{
	TestStart: "TEST_START", TestRunning: "TEST_RUNNING", TestEnd: "TEST_END",
	ParamExchange: "PARAM_EXCHANGE", CreateStreams: "CREATE_STREAMS",
	ServerTerminate: "SERVER_TERMINATE", ClientTerminate: "CLIENT_TERMINATE",
	ExchangeResults: "EXCHANGE_RESULTS", DisplayResults: "DISPLAY_RESULTS", IperfDone: "IPERF_DONE",
	AccessDenied: "ACCESS_DENIED", ServerError: "SERVER_ERROR",
}

// String is iperf3's name of the state, or its number.
func (s State) String() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return fmt.Sprintf("state %d", int8(s))
}

// known says that the state is one that travels.
func (s State) known() bool { return stateNames[s] != "" }
