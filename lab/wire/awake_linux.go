package wire

import "os"

// keepAwake asks the kernel to keep idle processors from sleeping deeply, as
// long as the file is open (Documentation/power/pm_qos_interface.rst): waking
// up, of a virtual machine's processor above all, would come on top of the
// path's delay. It belongs to root, and some machines do not have it; then the
// wire is later, and its lateness says so.
func keepAwake() *os.File {
	file, err := os.OpenFile("/dev/cpu_dma_latency", os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	if _, err := file.Write(make([]byte, 4)); err != nil { // an int32: 0 µs
		file.Close()
		return nil
	}
	return file
}
