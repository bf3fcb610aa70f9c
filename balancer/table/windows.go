package table

// window is a part of a range whose numbers all shift by one formula of the kernel:
//
//	port = lowest + number mod (highest - lowest + 1)
type window struct {
	first, last     uint16 // the numbers
	lowest, highest uint16
}

// windowsOf returns the windows that send number first+k to port target+k. Where ports are above the numbers, one
// window is enough: number mod size is the number itself. Where they are below, the size must be at most the window's
// first number and above half of its last. So a window ends before twice its first number, and a range from n to m
// needs log2(m/n) windows. A port above 65535 doesn't exist: numbers that would need one are left out.
func windowsOf(first, last, target uint16) []window {
	const highest = 1<<16 - 1
	if target >= first {
		shift := target - first
		last = min(last, highest-shift)
		return []window{{first, last, shift, highest}}
	}
	var windows []window
	for shift := uint32(first - target); ; {
		end := min(uint32(last), 2*uint32(first)-1)
		size := max(shift, end/2+1)
		windows = append(windows, window{first, uint16(end), uint16(size - shift), uint16(2*size - shift - 1)})
		if end == uint32(last) {
			return windows
		}
		first = uint16(end + 1)
	}
}
