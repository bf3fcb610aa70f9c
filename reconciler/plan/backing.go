package plan

func (b Backing) String() string {
	switch b {
	case Unbacked:
		return "unbacked"
	case Backed:
		return "backed"
	case OtherFamily:
		return "backed by another family"
	case NotCarried:
		return "not carried"
	case Unknown:
	}
	return "unknown"
}
